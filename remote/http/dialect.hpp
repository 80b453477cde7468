// How one kind of store is asked: from addresses to requests that servers accept, and what their answers mean.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>
#include <remote/http/request.hpp>

namespace penstock {

class Transport;

enum class Meaning : std::uint8_t {
  done,       ///< 2xx
  absent,     ///< there is no such object
  changed,    ///< the object is in another state than the request demands
  exists,     ///< there is an object, and the request demands that there is none
  outside,    ///< the range begins behind the object's end
  elsewhere,  ///< a redirect; Transport follows those of reads
  anew,       ///< what it was prepared with is out of date (token, region, clock): learn(), and prepare it again
  again,      ///< the server cannot now; Transport waits and tries again
  refused     ///< anything else, for good
};

/// What 300 ranges of an object have in common need not be computed 300 times: a dialect may keep what it likes.
/// Any thread may call any of it at any time.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// Whether the address is one of this kind.
  virtual bool speaks(std::string_view address) const = 0;

  /// What may be shown of an address in its place: secrets in it are taken off, and remembered for requests of it and
  /// of addresses below. Throws Error: invalid_argument, of an address that names nothing.
  virtual std::string admit(const std::string& address) { return address; }

  /// Whether renew() must come before requests can be prepared. Does not wait.
  virtual bool stale(const std::string& address) {
    static_cast<void>(address);
    return false;
  }
  /// Gets what requests are prepared with (credentials), waiting for it; nothing where it is fresh. Throws Error.
  virtual void renew(const std::string& address) { static_cast<void>(address); }

  /// Requests, prepared anew for each attempt. They do not wait where stale() is false. Throws Error:
  /// invalid_argument, io.
  virtual HttpRequest find(const std::string& address) = 0;
  virtual HttpRequest read_whole(const std::string& address) = 0;
  /// Bytes of that state of the object: with a Range header, and one that makes the server refuse another state where
  /// it can tell. `length` is not 0.
  virtual HttpRequest read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) = 0;

  /// Of status and, where they matter, headers and body. What is here is right for HTTP as such.
  virtual Meaning meaning(const HttpResponse& response) const;
  /// Takes in what an answer that means `anew` says: what was prepared is stale.
  virtual void learn(const std::string& address, const HttpResponse& response) {
    static_cast<void>(address);
    static_cast<void>(response);
  }
  /// What the server gives as its reason, in one short line without secrets ("AccessDenied: no permission"); empty:
  /// nothing.
  virtual std::string reason(const HttpResponse& response) const;
  /// What requests are sent with that nobody may see: words of a server that repeat one of these are not shown.
  virtual std::vector<std::string> secrets() const { return {}; }
  /// In words without secrets: what requests of the address are sent with, as far as renew() found it; empty: nothing.
  virtual std::string access(const std::string& address) {
    static_cast<void>(address);
    return {};
  }
  /// What headers of an answer to find(), read_whole() or read_range() tell. `size` is of the whole object, from
  /// Content-Range where there is one. What is here is right for HTTP as such.
  virtual ObjectInfo info(const HttpResponse& response) const;

  /// As ObjectStore's; what is here refuses (unsupported).
  virtual std::vector<ListedObject> list(Transport& transport, const std::string& folder);
  virtual std::unique_ptr<ObjectUpload> upload(Transport& transport, const std::string& address, bool if_absent);
  virtual void remove(Transport& transport, const std::string& address);
};

/// "the server answers 503 (Service Unavailable): SlowDown: Reduce your request rate"
std::string said_by_server(const Dialect& dialect, const HttpResponse& response);

/// What an answer that ends a request is: names the address, the status, and the server's reason.
Error refusal(const Dialect& dialect, const std::string& address, const HttpResponse& response);

/// True of Meaning::done, false of Meaning::absent. Throws refusal() of all else.
bool is_there(const Dialect& dialect, const std::string& address, const HttpResponse& response);

}  // namespace penstock
