#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <loader/node_memory/doorkeeper.hpp>
#include <loader/node_memory/meeting.hpp>
#include <loader/node_memory/message.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr int kPauseMs = 100;  // pause after the system could not provide a descriptor for a newcomer

/// The objects that the thread owns.
struct OpenDoor {
  UnforkedDescriptor place, wake;
  int handed_on;

  // Returns false if the system has no more descriptors.
  bool answer() const {
    const UnforkedDescriptor guest(
        [&] { return ::accept4(place.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (!guest) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
    if (is_of_this_user(guest.get())) send_descriptor(guest.get(), handed_on);
    return true;
  }

  void keep(const std::stop_token& stop) const {
    const std::stop_callback waking(stop, [&] {
      const std::uint64_t one = 1;
      static_cast<void>(::write(wake.get(), &one, sizeof one));
    });
    std::array<pollfd, 2> events{pollfd{.fd = wake.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = place.get(), .events = POLLIN, .revents = 0}};
    while (!stop.stop_requested()) {
      if (::poll(events.data(), events.size(), -1) < 0) continue;
      if (events[1].revents != 0 && !answer()) ::poll(events.data(), 1, kPauseMs);
    }
  }
};

}  // namespace

Doorkeeper::Doorkeeper(UnforkedDescriptor place, int handed_on) {
  UnforkedDescriptor wake([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  if (!wake) throw Error::resource("cannot make an event: " + std::generic_category().message(errno));
  const auto door = std::shared_ptr<const OpenDoor>(
      new OpenDoor{.place = std::move(place), .wake = std::move(wake), .handed_on = handed_on});
  thread_ = Thread("cache door", [door](const std::stop_token& stop) { door->keep(stop); });
}

}  // namespace penstock
