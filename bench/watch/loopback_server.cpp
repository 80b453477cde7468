#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <bench/watch/loopback_server.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::string text_of_answer(const HttpAnswer& answer, bool with_body = true) {
  std::string text = "HTTP/1.1 " + answer.status + "\r\nContent-Type: " + answer.type +
                     "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n" + answer.headers +
                     "Connection: close\r\n\r\n";
  if (with_body) text += answer.body;
  return text;
}

std::string refusal(const char* status) {
  return text_of_answer(http_refusal(status));
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

HttpAnswer http_refusal(const std::string& status) {
  return {.status = status, .body = status + "\n", .headers = {}};
}

LoopbackServer::LoopbackServer(std::uint16_t port, Handler handler)
    : handler_(std::move(handler)), listening_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  const auto fail = [port] {
    throw Error::io(errno, "cannot serve on port " + std::to_string(port) + " of 127.0.0.1");
  };
  if (listening_.get() < 0) fail();
  const int on = 1;
  ::setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) fail();
  if (::listen(listening_.get(), SOMAXCONN) != 0) fail();
  if (::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) fail();
  port_ = ntohs(address.sin_port);
}

void LoopbackServer::serve_for(std::chrono::milliseconds time) {
  const auto until = Clock::now() + time;
  for (;;) {
    std::vector<pollfd> waited;
    auto wake = until;
    for (const Client& client : clients_) {
      waited.push_back({client.socket.get(), static_cast<short>(client.answer.empty() ? POLLIN : POLLOUT), 0});
      wake = std::min(wake, client.until);
    }
    // At the limit of clients, further connections wait in the system's queue.
    if (clients_.size() < kMostClients) waited.push_back({listening_.get(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
    const int happened =
        ::poll(waited.data(), waited.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (happened < 0) return;
    const auto now = Clock::now();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (waited[i].revents == 0) continue;
      if (clients_[i].answer.empty()) read_from(clients_[i]);
      if (!clients_[i].answer.empty()) write_to(clients_[i]);
    }
    std::erase_if(clients_, [&](const Client& client) { return client.done || now >= client.until; });
    if (waited.back().fd == listening_.get() && waited.back().revents != 0) take_clients();
    if (now >= until) return;
  }
}

void LoopbackServer::take_clients() {
  while (clients_.size() < kMostClients) {
    const auto patience = clients_.size() < kMostClients / 2 ? kPatience : kShortPatience;
    Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) return;
    clients_.push_back({.socket = std::move(socket),
                        .request = {},
                        .answer = {},
                        .sent = 0,
                        .done = false,
                        .until = Clock::now() + patience});
  }
}

void LoopbackServer::read_from(Client& client) {
  std::array<char, 1024> part{};
  const ssize_t got = ::recv(client.socket.get(), part.data(), part.size(), 0);
  if (got <= 0) {
    client.done = got == 0 || !would_block();
    return;
  }
  client.request.append(part.data(), static_cast<std::size_t>(got));
  if (client.request.find("\r\n\r\n") != std::string::npos || client.request.find("\n\n") != std::string::npos)
    client.answer = answer_to(client.request);
  else if (client.request.size() > kMostRequest)
    client.answer = refusal("431 Request Header Fields Too Large");
}

void LoopbackServer::write_to(Client& client) {
  while (client.sent < client.answer.size()) {
    const ssize_t sent = ::send(client.socket.get(), client.answer.data() + client.sent,
                                client.answer.size() - client.sent, MSG_NOSIGNAL);
    if (sent < 0) {
      client.done = !would_block();
      return;
    }
    client.sent += static_cast<std::size_t>(sent);
  }
  client.done = true;
  ::shutdown(client.socket.get(), SHUT_WR);
}

// Parses the first line, METHOD TARGET HTTP/1.x. The query after the path has no effect.
std::string LoopbackServer::answer_to(const std::string& request) const {
  std::string_view line(request);
  line = line.substr(0, line.find_first_of("\r\n"));
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos ||
      !line.substr(second + 1).starts_with("HTTP/1."))
    return refusal("400 Bad Request");
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, second - first - 1);
  if (method != "GET" && method != "HEAD") return refusal("405 Method Not Allowed");
  try {
    return text_of_answer(handler_(target.substr(0, target.find('?'))), method == "GET");
  } catch (...) {
    return refusal("500 Internal Server Error");
  }
}

}  // namespace penstock
