#include <cerrno>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

#include <penstock/error.hpp>
#include <remote/http/engine/sockets.hpp>

namespace penstock {
namespace {

constexpr std::size_t kEventsAtOnce = 128;

}  // namespace

Sockets::Sockets() : raw_(kEventsAtOnce) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  if (epoll_ < 0 || wake_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    const Error error = Error::resource("cannot wait for connections: " + std::generic_category().message(errno));
    if (wake_ >= 0) ::close(wake_);
    if (epoll_ >= 0) ::close(epoll_);
    throw error;
  }
  events_.reserve(kEventsAtOnce);
}

Sockets::~Sockets() {
  ::close(wake_);
  ::close(epoll_);
}

void Sockets::tell(int socket, std::uint32_t events) {
  Known& known = known_[static_cast<std::size_t>(socket)];
  epoll_event event{.events = events, .data = {.fd = socket}};
  const int what = events == 0 ? EPOLL_CTL_DEL : known.told == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  // libcurl may have closed this socket, which removed it from epoll. The number may belong to another socket by now.
  if (::epoll_ctl(epoll_, what, socket, &event) != 0 && what == EPOLL_CTL_MOD && errno == ENOENT)
    static_cast<void>(::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event));
  known.told = events;
}

void Sockets::want(int socket, bool in, bool out) {
  if (socket < 0) return;
  if (static_cast<std::size_t>(socket) >= known_.size()) known_.resize(static_cast<std::size_t>(socket) + 1);
  Known& known = known_[static_cast<std::size_t>(socket)];
  known.wanted = (in ? std::uint32_t{EPOLLIN} : 0U) | (out ? std::uint32_t{EPOLLOUT} : 0U);
  if (known.wanted != 0 && known.wanted != known.told) tell(socket, known.wanted);
}

void Sockets::forget(int socket) {
  if (socket < 0 || static_cast<std::size_t>(socket) >= known_.size()) return;
  if (known_[static_cast<std::size_t>(socket)].told != 0) tell(socket, 0);
  known_[static_cast<std::size_t>(socket)] = {};
}

std::span<const Sockets::Event> Sockets::wait(int milliseconds) {
  events_.clear();
  const int count = ::epoll_wait(epoll_, raw_.data(), static_cast<int>(raw_.size()), milliseconds);
  for (int i = 0; i < count; ++i) {
    const epoll_event& raw = raw_[static_cast<std::size_t>(i)];
    const int socket = raw.data.fd;
    if (socket == wake_) {
      std::uint64_t number = 0;
      static_cast<void>(!::read(wake_, &number, sizeof number));
      continue;
    }
    const Known& known = known_[static_cast<std::size_t>(socket)];
    if (known.wanted == 0) {  // an unused connection: most likely the server closed it
      tell(socket, 0);
      continue;
    }
    if (known.wanted != known.told) tell(socket, known.wanted);
    events_.push_back({.socket = socket,
                       .in = (raw.events & EPOLLIN) != 0,
                       .out = (raw.events & EPOLLOUT) != 0,
                       .failed = (raw.events & (EPOLLERR | EPOLLHUP)) != 0});
  }
  return events_;
}

void Sockets::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof one));
}

}  // namespace penstock
