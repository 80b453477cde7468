// One request that a loop executes, and the receiver of its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <remote/http/request.hpp>

namespace penstock {

/// Describes how a request ended without a complete answer.
struct Failure {
  enum class Kind : std::uint8_t {
    none,
    broken,       ///< network error: a retry may help
    unreachable,  ///< no such host or no listener: a retry may help if that host has answered before
    hopeless,     ///< certificate error or invalid URL
    unable,       ///< out of memory or descriptors
    stopped       ///< on_head() or on_body() returned false
  };
  Kind kind = Kind::none;
  std::string text = {};  ///< one line without secrets
};

/// The loop's thread makes all calls.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Called when a connection is free; fills in the request. Returns false to send nothing; the loop then forgets it.
  virtual bool begin(HttpRequest& request) = 0;
  /// Receives status and headers. Returns false to reject the body.
  virtual bool on_head(const HttpResponse& head) = 0;
  /// Receives bytes of the body. Returns false to stop.
  virtual bool on_body(std::span<const std::byte> bytes) = 0;
  /// Called once after an exchange that began has ended, but not if it was cancelled. Nothing is in flight then. The
  /// loop has forgotten the exchange, which may be started again.
  virtual void on_end(Failure failure) = 0;
  /// Called if a new connection was made for it.
  virtual void on_connection() = 0;

 protected:
  Exchange() = default;
  Exchange(const Exchange&) = default;
  Exchange& operator=(const Exchange&) = default;

 private:
  friend class Loop;
  class Transfer* transfer_ = nullptr;  // while it is in flight
  bool waiting_ = false;                // for a connection
};

}  // namespace penstock
