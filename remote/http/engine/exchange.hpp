// What a loop carries out: a request, and who takes its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <remote/http/request.hpp>

namespace penstock {

/// How a request ended without a whole answer.
struct Failure {
  enum class Kind : std::uint8_t {
    none,
    broken,       ///< the network: another attempt may help
    unreachable,  ///< no such host, or nobody listens: may help where that host has answered before
    hopeless,     ///< certificates, a URL that is none
    unable,       ///< memory or descriptors of this machine
    stopped       ///< on_head() or on_body() wanted no more
  };
  Kind kind = Kind::none;
  std::string text = {};  ///< one line without secrets
};

/// All calls come from the loop's thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// A connection is free: what to send. False: nothing after all; the loop forgets it.
  virtual bool begin(HttpRequest& request) = 0;
  /// Status and headers are there. False: the body is not wanted.
  virtual bool on_head(const HttpResponse& head) = 0;
  /// False: no more is wanted.
  virtual bool on_body(std::span<const std::byte> bytes) = 0;
  /// Nothing is on its way any more. Of those that began, once; not of one that was cancelled. The loop has forgotten
  /// it and it may be given to the loop again.
  virtual void on_end(Failure failure) = 0;
  /// A connection was made for it.
  virtual void on_connection() = 0;

 protected:
  Exchange() = default;
  Exchange(const Exchange&) = default;
  Exchange& operator=(const Exchange&) = default;

 private:
  friend class Loop;
  class Transfer* transfer_ = nullptr;  // while it is on its way
  bool waiting_ = false;                // for a connection
};

}  // namespace penstock
