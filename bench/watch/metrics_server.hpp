// Serves one page of text by HTTP, only on this machine's loopback address.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// Answers GET /metrics; other requests get 404, 405 or 400. Each connection gets one answer. A request has at most
/// kMostRequest bytes, and at most kPatience until its answer is sent, so a slow or silent client does not delay
/// others. Not thread-safe: use it from one thread.
class MetricsServer {
 public:
  static constexpr std::size_t kMostRequest = 8192, kMostClients = 64;
  static constexpr std::chrono::seconds kPatience{5};

  /// port 0: any free port. text() is called for each answer; if it throws, the answer is 500. Throws Error: io, if the
  /// port is not available.
  MetricsServer(std::uint16_t port, std::function<std::string()> text);

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

  std::function<std::string()> text_;
  Descriptor listening_;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
};

}  // namespace penstock
