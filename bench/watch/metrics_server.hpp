// Serves one page of text by HTTP, on this machine's loopback address alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// Answers GET /metrics; whatever else is asked gets 404, 405 or 400. One answer to a connection. Requests have at most
/// kMostRequest bytes and, with their answer, kPatience of time; so a client that is slow, or never asks, holds up
/// nobody else. From one thread.
class MetricsServer {
 public:
  static constexpr std::size_t kMostRequest = 8192, kMostClients = 64;
  static constexpr std::chrono::seconds kPatience{5};

  /// port 0: any that is free. text() is called for each answer; what it throws is answer 500. Throws Error: io, where
  /// the port cannot be had.
  MetricsServer(std::uint16_t port, std::function<std::string()> text);

  std::uint16_t port() const { return port_; }
  /// Serves for so long, or until a signal comes.
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
