// Sends requests, retries them, and returns their answers. One thread does this over persistent connections; another
// thread waits for credentials.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <formats/places/object_store.hpp>
#include <remote/http/dialect.hpp>
#include <remote/http/request.hpp>

namespace penstock {

/// Returns the versions, such as "libcurl 7.88.1, OpenSSL/3.0.15".
std::string http_library();

/// A request to send with retries.
struct Asking {
  Dialect& dialect;
  std::string address;                     ///< for errors and renew(); without secrets
  std::function<HttpRequest()> prepare;    ///< called for each attempt, in the calling thread
  std::uint64_t most_bytes = 64ULL << 20;  ///< limit for the answer's body; beyond it throws Error: resource
  std::chrono::milliseconds deadline{};    ///< for all attempts together; 0: the process's default (settings.hpp)
  unsigned attempts = 0;                   ///< maximum number; 0: until the deadline
};

/// Returns the dialect of an address. Throws Error: invalid_argument, if no dialect accepts it.
using DialectOf = std::function<Dialect&(const std::string& address)>;

/// One per process. Thread-safe.
class Transport {
 public:
  Transport();
  Transport(Transport&&) = delete;
  ~Transport();  ///< no request may be in flight

  /// Waits for a final answer: retries `again`, and `anew` up to twice. Follows redirects of get and head. Requests are
  /// also repeated after a broken connection, so the caller must tolerate that a request is executed twice. Throws
  /// Error: io, after the deadline, with the last failure; resource, "interrupted"; and the exceptions of `prepare` and
  /// renew().
  HttpResponse send(const Asking& asking);

  /// Makes a reader of ranges, as in ObjectStore::reader().
  std::unique_ptr<RangeReader> reader(DialectOf dialect_of, OnRange on_range);

  StoreCounts counts() const;

  /// Stops the thread: no answers follow, and send() fails. For the end of the process.
  void end() noexcept;

  struct Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace penstock
