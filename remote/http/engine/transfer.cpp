#include <algorithm>
#include <new>
#include <string_view>

#include <sys/socket.h>
#include <unistd.h>

#include <base/caught.hpp>
#include <base/printable.hpp>
#include <remote/http/engine/transfer.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/redirect.hpp>

namespace penstock {
namespace {

Failure::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return Failure::Kind::unreachable;
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN:
    case CURLE_BAD_CONTENT_ENCODING:
      return Failure::Kind::hopeless;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
      return Failure::Kind::unable;
    default:
      return Failure::Kind::broken;
  }
}

// Returns true if libcurl's own text can be shown. Except for malformed URLs it contains only hosts, ports,
// certificates and byte counts.
bool is_told(CURLcode code) {
  return code != CURLE_URL_MALFORMAT;
}

// This message quotes the proxy from the environment, including its password.
bool quotes_proxy(std::string_view text) {
  return text.starts_with("Unsupported proxy");
}

// `code` is not CURLE_OK. `detail` is libcurl's own text, or empty.
Failure curl_failure(CURLcode code, const char* detail) {
  // All addresses are HTTP, so the cause is the answer.
  if (code == CURLE_UNSUPPORTED_PROTOCOL) return {Failure::Kind::broken, "the answer is not HTTP/1"};
  if (quotes_proxy(detail)) return {Failure::Kind::hopeless, "the environment contains an invalid proxy address"};
  if (code == CURLE_SSL_CONNECT_ERROR &&
      std::string_view(detail).find("wrong version number") != std::string_view::npos)
    return {Failure::Kind::hopeless, "the server does not speak TLS: should the address begin with http://?"};
  const std::string text = is_told(code) && *detail != '\0' ? detail : ::curl_easy_strerror(code);
  return {kind_of(code), one_line(text)};
}

// Size of one read of the socket. Larger ones exceed the CPU cache. libcurl also allocates the buffer for each request,
// so it should not be much larger than the answer.
constexpr std::uint64_t kReceiveBuffer = 128U << 10, kReceiveUnit = 16U << 10, kHeadersOfAnswer = 2U << 10;
constexpr std::size_t kMostHeaders = 200;
constexpr std::chrono::milliseconds kLatestAnswer{120'000};  // for requests that change something
constexpr std::uint64_t kSlowest = 1024;                     // bytes per second

template <typename Value>
void set_option(CURL* handle, CURLoption option, Value value) {
  if (::curl_easy_setopt(handle, option, value) == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
}

}  // namespace

Transfer::Transfer(Sockets& sockets, const RemoteSettings& settings, const Trust& trust) : handle_(::curl_easy_init()) {
  if (handle_ == nullptr) throw std::bad_alloc();
  set_option(handle_, CURLOPT_PATH_AS_IS, 1L);  // "a/../b" is the key of another object than "b"
  set_option(handle_, CURLOPT_NOSIGNAL, 1L);
  set_option(handle_, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set_option(handle_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connect.count()));
  set_option(handle_, CURLOPT_TCP_KEEPALIVE, 1L);
  set_option(handle_, CURLOPT_FOLLOWLOCATION, 0L);
  set_option(handle_, CURLOPT_ERRORBUFFER, error_);
  set_option(handle_, CURLOPT_PRIVATE, this);
  set_option(handle_, CURLOPT_HEADERFUNCTION, &take_header);
  set_option(handle_, CURLOPT_HEADERDATA, this);
  set_option(handle_, CURLOPT_WRITEFUNCTION, &take_body);
  set_option(handle_, CURLOPT_WRITEDATA, this);
  set_option(handle_, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set_option(handle_, CURLOPT_OPENSOCKETDATA, this);
  set_option(handle_, CURLOPT_CLOSESOCKETFUNCTION, &close_socket);
  set_option(handle_, CURLOPT_CLOSESOCKETDATA, &sockets);
  set_option(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set_option(handle_, CURLOPT_SSL_VERIFYPEER, 1L);
  set_option(handle_, CURLOPT_SSL_VERIFYHOST, 2L);
#if LIBCURL_VERSION_NUM >= 0x075500
  set_option(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  set_option(handle_, CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  set_option(handle_, CURLOPT_QUICK_EXIT, 1L);  // a cancelled request does not wait for name resolution
#endif
  if (!settings.proxies) set_option(handle_, CURLOPT_PROXY, "");  // otherwise libcurl reads the environment each time
  if (!trust.file.empty()) set_option(handle_, CURLOPT_CAINFO, trust.file.c_str());
  if (!trust.folder.empty()) set_option(handle_, CURLOPT_CAPATH, trust.folder.c_str());
}

Transfer::~Transfer() {
  ::curl_easy_cleanup(handle_);
  ::curl_slist_free_all(headers_);
}

void Transfer::add_header(const std::string& header) {
  curl_slist* const longer = ::curl_slist_append(headers_, header.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  headers_ = longer;
}

void Transfer::set_method(const HttpRequest& request) {
  const bool plain = request.method == HttpMethod::get;
  if (plain && plain_) return;
  set_option(handle_, CURLOPT_CUSTOMREQUEST, static_cast<const char*>(nullptr));
  set_option(handle_, CURLOPT_HTTPGET, 1L);
  plain_ = plain;
  switch (request.method) {
    case HttpMethod::get:
      return;
    case HttpMethod::head:
      set_option(handle_, CURLOPT_NOBODY, 1L);
      return;
    case HttpMethod::remove:
      set_option(handle_, CURLOPT_CUSTOMREQUEST, "DELETE");
      return;
    case HttpMethod::put:
      set_option(handle_, CURLOPT_CUSTOMREQUEST, "PUT");
      [[fallthrough]];
    case HttpMethod::post:
      set_option(handle_, CURLOPT_POST, 1L);
      set_option(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set_option(handle_, CURLOPT_POSTFIELDS,
                 request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
  }
}

void Transfer::set(Exchange& exchange, const HttpRequest& request) {
  exchange_ = &exchange;
  head_.status = 0;
  head_.headers.clear();
  head_given_ = was_stopped_ = false;
  imposed_.clear();
  origin_ = origin_of(request.url);
  error_[0] = '\0';
  arrived_ = window_arrived_ = 0;
  began_ = window_began_ = Clock::now();
  ::curl_slist_free_all(headers_);
  headers_ = nullptr;
  set_method(request);
  slow_allowed_ = request.method != HttpMethod::get && request.method != HttpMethod::head;
  bool has_type = false;
  for (const std::string& header : request.headers) {
    add_header(header);
    has_type = has_type || lower_case(name_of_header(header)) == "content-type";
  }
  for (const std::string& header : request.own_headers) {
    add_header(header);
    has_type = has_type || lower_case(name_of_header(header)) == "content-type";
  }
  if (request.method == HttpMethod::put || request.method == HttpMethod::post) {
    if (!has_type) add_header("Content-Type:");  // otherwise libcurl sends a form's type
    add_header("Expect:");
  }
  set_option(handle_, CURLOPT_HTTPHEADER, headers_);
  set_option(handle_, CURLOPT_URL, request.url.c_str());
  const std::uint64_t room = std::min(kReceiveBuffer, request.expected + kHeadersOfAnswer + kReceiveUnit - 1);
  set_option(handle_, CURLOPT_BUFFERSIZE,
             static_cast<long>(request.expected == 0 ? kReceiveBuffer : room / kReceiveUnit * kReceiveUnit));
  if (request.direct != direct_) {
    set_option(handle_, CURLOPT_NOPROXY, request.direct ? "*" : static_cast<const char*>(nullptr));
    direct_ = request.direct;
  }
}

bool Transfer::take_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // each answer has one, also 100 (Continue)
    const std::size_t space = line.find(' ');
    const auto status =
        space != std::string_view::npos ? parse_digits(trimmed(line.substr(space)).substr(0, 3)) : std::nullopt;
    head_.status = status ? static_cast<int>(*status) : 0;
    head_.headers.clear();
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  if (head_.headers.size() >= kMostHeaders) return false;
  head_.headers.emplace_back(lower_case(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return true;
}

// No exception may pass through libcurl. A short count ends the request instead.
std::size_t Transfer::take_header(char* bytes, std::size_t size, std::size_t count, void* transfer) {
  Transfer& self = *static_cast<Transfer*>(transfer);
  const std::size_t length = size * count;
  self.arrived_ += length;
  bool taken = false;
  if (self.head_given_) return length;  // trailers of a chunked body
  if (caught([&] { taken = self.take_line({bytes, length}); }) != nullptr) self.fail();
  return taken ? length : 0;
}

std::size_t Transfer::take_body(char* bytes, std::size_t size, std::size_t count, void* transfer) {
  Transfer& self = *static_cast<Transfer*>(transfer);
  const std::size_t length = size * count;
  self.arrived_ += length;
  bool more = true;
  const auto failure = caught([&] {
    if (!self.head_given_) {
      self.head_given_ = true;
      more = self.exchange_->on_head(self.head_);
    }
    more = more && self.exchange_->on_body(std::as_bytes(std::span(bytes, length)));
  });
  if (failure != nullptr) self.fail();
  if (more && failure == nullptr) return length;
  self.was_stopped_ = true;
  return 0;
}

curl_socket_t Transfer::open_socket(void* transfer, curlsocktype, curl_sockaddr* address) {
  const int made = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (made < 0) return CURL_SOCKET_BAD;
  static_cast<Transfer*>(transfer)->exchange_->on_connection();
  return made;
}

int Transfer::close_socket(void* sockets, curl_socket_t socket) {
  static_cast<Sockets*>(sockets)->forget(socket);
  return ::close(socket);
}

Failure Transfer::end(CURLcode code) {
  if (!imposed_.empty()) return {Failure::Kind::unable, std::move(imposed_)};
  if (was_stopped_) return {Failure::Kind::stopped};
  if (code != CURLE_OK) return curl_failure(code, error_);
  if (!head_given_) {
    head_given_ = true;
    if (!exchange_->on_head(head_)) return {Failure::Kind::stopped};
  }
  return {};
}

bool Transfer::has_stalled(Clock::time_point now, std::chrono::milliseconds limit) {
  curl_off_t sent = 0;
  if (slow_allowed_) {
    static_cast<void>(::curl_easy_getinfo(handle_, CURLINFO_SIZE_UPLOAD_T, &sent));
    limit = std::max(limit, kLatestAnswer);
  }
  if (now - window_began_ < limit) return false;
  const std::uint64_t moved = arrived_ + static_cast<std::uint64_t>(sent);
  const auto seconds = std::chrono::duration<double>(now - window_began_).count();
  const bool stalled = static_cast<double>(moved - window_arrived_) < seconds * static_cast<double>(kSlowest);
  window_began_ = now;
  window_arrived_ = moved;
  return stalled;
}

}  // namespace penstock
