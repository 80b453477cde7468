#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <loader/node_memory/local_socket.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr int kBacklog = 512;  // simultaneous requests

// `use` gets the socket and its address, which begins with a zero byte: it is in the abstract namespace.
template <typename Use>
UnforkedDescriptor socket_named(std::string_view name, int type, const Use& use) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return UnforkedDescriptor([&] {
    const int made = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return -1;
    if (use(made, reinterpret_cast<const sockaddr*>(&address),
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)))
      return made;
    const int why = errno;
    ::close(made);
    errno = why;
    return -1;
  });
}

}  // namespace

UnforkedDescriptor listening(std::string_view name, int type) {
  return socket_named(name, type, [](int made, const sockaddr* address, socklen_t length) {
    return ::bind(made, address, length) == 0 && ::listen(made, kBacklog) == 0;
  });
}

UnforkedDescriptor connected(std::string_view name, int type) {
  return socket_named(name, type, [](int made, const sockaddr* address, socklen_t length) {
    return ::connect(made, address, length) == 0;
  });
}

bool is_of_this_user(int socket) {
  ucred other{};
  socklen_t length = sizeof other;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == ::geteuid();
}

Guest next_of_any_user(int listening) {
  Guest guest{.socket = UnforkedDescriptor(
                  [listening] { return ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); })};
  if (!guest.socket)
    guest.out_of_descriptors = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
  return guest;
}

Guest next_guest(int listening) {
  Guest guest = next_of_any_user(listening);
  if (guest.socket && !is_of_this_user(guest.socket.get())) guest.socket = {};
  return guest;
}

WakeEvent::WakeEvent() : event_([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }) {
  if (!event_) throw Error::resource("cannot make an event: " + std::generic_category().message(errno));
}

void WakeEvent::ring() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event_.get(), &one, sizeof one));
}

void WakeEvent::reset() const {
  std::uint64_t count = 0;
  static_cast<void>(::read(event_.get(), &count, sizeof count));
}

}  // namespace penstock
