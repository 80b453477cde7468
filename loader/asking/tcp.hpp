// TCP sockets whose calls never block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include <base/unforked.hpp>
#include <loader/node_memory/local_socket.hpp>

namespace penstock::asking {

/// The address of a server: "node7:7710", "10.0.0.7:7710", "[::1]:7710". Port 0 lets the system choose.
struct Address {
  std::string host, port;
};
/// Throws Error: invalid_argument, unless the text is HOST:PORT.
Address parse_address(std::string_view text);

/// A numeric address.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};
/// Asks the system's resolver, which may take seconds. Returns nothing, and sets `why`, if it does not know the name.
std::vector<Endpoint> resolve(const Address& address, std::string& why);

/// Returns a socket that listens there. Throws Error: resource.
UnforkedDescriptor listening_at(const Address& address);
/// Returns the number of the port, which the system may have chosen.
std::uint16_t port_of(int socket);
/// Begins to connect. Returns nothing, with errno, if the system refuses at once. connect_error() is 0 once the socket
/// is writable and connected.
UnforkedDescriptor connecting_to(const Endpoint& endpoint);
int connect_error(int socket);
/// Returns the next connection of a listening socket.
Guest next_client(int listening);

}  // namespace penstock::asking
