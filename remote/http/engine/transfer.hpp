// One request in flight: a libcurl handle, which serves many requests one after another.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <curl/curl.h>

#include <remote/http/engine/exchange.hpp>
#include <remote/http/engine/sockets.hpp>
#include <remote/http/engine/trust.hpp>
#include <remote/http/settings.hpp>

namespace penstock {

class Transfer {
 public:
  using Clock = std::chrono::steady_clock;

  /// All three arguments must outlive it. Throws std::bad_alloc.
  Transfer(Sockets& sockets, const RemoteSettings& settings, const Trust& trust);
  Transfer(Transfer&&) = delete;
  ~Transfer();

  /// Prepares the handle to send `request` for `exchange`. `exchange` and the body must outlive the request. Throws
  /// std::bad_alloc.
  void set(Exchange& exchange, const HttpRequest& request);
  /// Returns the result of the request. `code` is libcurl's.
  Failure end(CURLcode code);

  CURL* handle() const { return handle_; }
  Exchange& exchange() const { return *exchange_; }
  Clock::time_point began() const { return began_; }
  const std::string& origin() const { return origin_; }  ///< "https://host"

  /// Returns true if it received less than 1 KiB per second during the last `limit` or longer.
  bool has_stalled(Clock::time_point now, std::chrono::milliseconds limit);

 private:
  static std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* transfer);
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* transfer);
  static curl_socket_t open_socket(void* transfer, curlsocktype purpose, curl_sockaddr* address);
  static int close_socket(void* sockets, curl_socket_t socket);
  void add_header(const std::string& header);
  void set_method(const HttpRequest& request);
  void fail() { imposed_ = "no memory is left for the answer"; }
  bool take_line(std::string_view line);

  CURL* handle_;
  curl_slist* headers_ = nullptr;
  Exchange* exchange_ = nullptr;
  HttpResponse head_;
  bool head_given_ = false;
  bool was_stopped_ = false;
  bool plain_ = true;  // a GET without body, the default of the handle
  bool direct_ = false;
  bool slow_allowed_ = false;  // a server may take long to process uploaded data
  std::string imposed_;
  std::string origin_;
  std::uint64_t arrived_ = 0;
  Clock::time_point began_, window_began_;
  std::uint64_t window_arrived_ = 0;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace penstock
