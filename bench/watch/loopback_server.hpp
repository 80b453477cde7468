// A small HTTP server for this machine's loopback address.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <formats/io/descriptor.hpp>

namespace penstock {

struct HttpAnswer {
  std::string status = "200 OK";
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string headers;  ///< further header lines; each ends with "\r\n"
};
/// An answer whose body repeats the status.
HttpAnswer http_refusal(const std::string& status);

/// Answers GET and HEAD; other requests get 405 or 400. Each connection gets one answer. A request has at most
/// kMostRequest bytes. A connection ends after kPatience, or kShortPatience if half of kMostClients are connected, so a
/// slow or silent client does not delay others. Not thread-safe: use it from one thread.
class LoopbackServer {
 public:
  static constexpr std::size_t kMostRequest = 8192, kMostClients = 128;
  static constexpr std::chrono::seconds kPatience{5}, kShortPatience{2};
  /// Gets the path of a request without its query, in the client's spelling. If it throws, the answer is 500.
  using Handler = std::function<HttpAnswer(std::string_view path)>;

  /// port 0: any free port. Throws Error: io, if the port is not available.
  LoopbackServer(std::uint16_t port, Handler handler);

  std::uint16_t port() const { return port_; }
  /// Serves for `time`, or until a signal arrives.
  void serve_for(std::chrono::milliseconds time);

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    Descriptor socket;
    std::string request, answer;
    std::size_t sent = 0;
    bool done = false;
    Clock::time_point until;
  };
  void take_clients();
  void read_from(Client& client);
  void write_to(Client& client);
  std::string answer_to(const std::string& request) const;

  Handler handler_;
  Descriptor listening_;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
};

}  // namespace penstock
