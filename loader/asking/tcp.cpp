#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <base/printable.hpp>
#include <loader/asking/tcp.hpp>
#include <penstock/error.hpp>

namespace penstock::asking {
namespace {

constexpr int kWaiting = 1024;  // connections that the system keeps until they are accepted

// Small messages go out at once. A machine that vanished is noticed within two minutes.
void prepare(int socket) {
  const int yes = 1, idle = 30, interval = 10, count = 6;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

UnforkedDescriptor stream(int family) {
  return UnforkedDescriptor([family] { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

}  // namespace

Address parse_address(std::string_view text) {
  const auto refuse = [&] {
    throw Error::invalid_argument("the address of a server is HOST:PORT, such as node7:7710, not " +
                                  double_quoted(text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) refuse();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (wrong != std::errc() || end != port.data() + port.size()) refuse();
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find('\0') != std::string_view::npos) refuse();
  return {.host = std::string(host), .port = std::string(port)};
}

std::vector<Endpoint> resolve(const Address& address, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (failed != 0) {
    why = ::gai_strerror(failed);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Endpoint endpoint{.length = each->ai_addrlen};
    std::memcpy(&endpoint.address, each->ai_addr, each->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  return endpoints;
}

UnforkedDescriptor listening_at(const Address& address) {
  const std::string shown = address.host + ":" + address.port;
  std::string why;
  const auto endpoints = resolve(address, why);
  if (endpoints.empty()) throw Error::resource("cannot listen at " + shown + ": " + why);
  for (const Endpoint& endpoint : endpoints) {
    UnforkedDescriptor socket = stream(endpoint.address.ss_family);
    const int yes = 1;
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length) == 0 &&
        ::listen(socket.get(), kWaiting) == 0)
      return socket;
    why = std::generic_category().message(errno);
  }
  throw Error::resource("cannot listen at " + shown + ": " + why);
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

UnforkedDescriptor connecting_to(const Endpoint& endpoint) {
  UnforkedDescriptor socket = stream(endpoint.address.ss_family);
  if (!socket) return {};
  prepare(socket.get());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length) != 0 &&
      errno != EINPROGRESS)
    return {};
  return socket;
}

int connect_error(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

Guest next_client(int listening) {
  Guest guest = next_of_any_user(listening);
  if (guest.socket) prepare(guest.socket.get());
  return guest;
}

}  // namespace penstock::asking
