// Sends requests, again where that may help, and gives their answers. One thread does it, over connections that are
// kept, and another one waits for credentials.
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

/// "libcurl 7.88.1, OpenSSL/3.0.15"
std::string http_library();

/// Something to be asked of a server.
struct Asking {
  Dialect& dialect;
  std::string address;                     ///< for errors, and for renew(); no secrets
  std::function<HttpRequest()> prepare;    ///< called for each attempt, in the thread that asks
  std::uint64_t most_bytes = 64ULL << 20;  ///< of the answer's body. More: Error: resource
  std::chrono::milliseconds deadline{};    ///< for all attempts together; 0: the process's (settings.hpp)
  unsigned attempts = 0;                   ///< at most; 0: until the deadline
};

/// Which dialect an address has. Throws Error: invalid_argument, of an address that none speaks.
using DialectOf = std::function<Dialect&(const std::string& address)>;

/// One per process. Any thread may use it.
class Transport {
 public:
  Transport();
  Transport(Transport&&) = delete;
  ~Transport();  ///< no request may be under way

  /// Waits for an answer that means neither `again` nor, more than twice, `anew`; redirects of get and head are
  /// followed. A request whose connection broke is sent again too: the caller must be able to bear that it was done
  /// twice. Throws Error: io, when the time is over, with the last failure; resource, "interrupted"; what `prepare` and
  /// renew() throw.
  HttpResponse send(const Asking& asking);

  /// Ranges, as ObjectStore::reader() says.
  std::unique_ptr<RangeReader> reader(DialectOf dialect_of, OnRange on_range);

  StoreCounts counts() const;

  /// Ends the thread; nothing is answered any more, and send() fails. For the end of the process.
  void end() noexcept;

  struct Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace penstock
