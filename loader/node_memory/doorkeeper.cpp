#include <array>
#include <memory>
#include <stop_token>
#include <utility>

#include <poll.h>

#include <loader/node_memory/doorkeeper.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/node_memory/message.hpp>

namespace penstock {
namespace {

constexpr int kPauseMs = 100;  // pause after the system could not provide a descriptor for a newcomer

/// The objects that the thread owns.
struct OpenDoor {
  UnforkedDescriptor place;
  int handed_on;
  WakeEvent wake = {};

  // Returns false if the system has no more descriptors.
  bool answer() const {
    const Guest guest = next_guest(place.get());
    if (guest.socket) send_descriptor(guest.socket.get(), handed_on);
    return !guest.out_of_descriptors;
  }

  void keep(const std::stop_token& stop) const {
    const std::stop_callback waking(stop, [&] { wake.ring(); });
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
  const auto door = std::shared_ptr<const OpenDoor>(new OpenDoor{.place = std::move(place), .handed_on = handed_on});
  thread_ = Thread("cache door", [door](const std::stop_token& stop) { door->keep(stop); });
}

}  // namespace penstock
