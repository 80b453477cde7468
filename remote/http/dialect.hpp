// Interface to one kind of store: makes requests from addresses, and interprets the answers.
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
  absent,     ///< the object does not exist
  changed,    ///< the object is in another state than the request requires
  exists,     ///< the object exists, but the request requires that it does not
  outside,    ///< the range begins after the end of the object
  elsewhere,  ///< a redirect; Transport follows those of reads
  anew,       ///< token, region or clock are out of date: call learn() and prepare it again
  again,      ///< temporarily unavailable; Transport waits and retries
  refused     ///< any other error; permanent
};

/// A dialect may cache parts of its requests: 300 ranges of an object share most of them.
/// Thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// Returns true if the address belongs to this kind of store.
  virtual bool speaks(std::string_view address) const = 0;

  /// Returns the address without its secrets, for display. Remembers the secrets for requests to it and to addresses
  /// below. Throws Error: invalid_argument, if the address names nothing.
  virtual std::string admit(const std::string& address) { return address; }

  /// Returns true if renew() must be called before requests can be prepared. Does not block.
  virtual bool stale(const std::string& address) {
    static_cast<void>(address);
    return false;
  }
  /// Gets credentials and waits for them; does nothing if they are fresh. Throws Error.
  virtual void renew(const std::string& address) { static_cast<void>(address); }

  /// Makes a request. Called again for each attempt. Does not block if stale() is false. Throws Error:
  /// invalid_argument, io.
  virtual HttpRequest find(const std::string& address) = 0;
  virtual HttpRequest read_whole(const std::string& address) = 0;
  /// Reads bytes of that state of the object: with a Range header and, if the store supports it, a condition that makes
  /// the server reject another state. `length` is not 0.
  virtual HttpRequest read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) = 0;

  /// Interprets the status and, if they matter, headers and body. The default implements plain HTTP.
  virtual Meaning meaning(const HttpResponse& response) const;
  /// Processes an answer with Meaning::anew: prepared requests are out of date.
  virtual void learn(const std::string& address, const HttpResponse& response) {
    static_cast<void>(address);
    static_cast<void>(response);
  }
  /// Returns the server's reason in one short line without secrets ("AccessDenied: no permission"); empty if there is
  /// none.
  virtual std::string reason(const HttpResponse& response) const;
  /// Returns the secrets in requests. If a server's message repeats one of them, the message is not shown.
  virtual std::vector<std::string> secrets() const { return {}; }
  /// Describes, without secrets, the credentials for the address, as far as renew() found them; may be empty.
  virtual std::string access(const std::string& address) {
    static_cast<void>(address);
    return {};
  }
  /// Parses the headers of an answer to find(), read_whole() or read_range(). `size` is that of the whole object, from
  /// Content-Range if present. The default implements plain HTTP.
  virtual ObjectInfo info(const HttpResponse& response) const;

  /// Same as in ObjectStore. The defaults throw Error: unsupported.
  virtual std::vector<ListedObject> list(Transport& transport, const std::string& folder);
  virtual std::unique_ptr<ObjectUpload> upload(Transport& transport, const std::string& address, bool if_absent);
  virtual void remove(Transport& transport, const std::string& address);
};

/// Formats "the server answers 503 (Service Unavailable): SlowDown: Reduce your request rate".
std::string said_by_server(const Dialect& dialect, const HttpResponse& response);

/// Makes the error of a final answer: it names the address, the status, and the server's reason.
Error refusal(const Dialect& dialect, const std::string& address, const HttpResponse& response);

/// Returns true for Meaning::done and false for Meaning::absent. Otherwise throws refusal().
bool is_there(const Dialect& dialect, const std::string& address, const HttpResponse& response);

}  // namespace penstock
