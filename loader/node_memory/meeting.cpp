#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <base/thread.hpp>
#include <loader/node_memory/local_socket.hpp>
#include <loader/node_memory/meeting.hpp>
#include <loader/node_memory/message.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kAskAgain{1};

// SOCK_SEQPACKET delivers a message whole or not at all.
constexpr int kType = SOCK_SEQPACKET;

Error refused(const std::string& what) {
  return Error::resource(what + ": " + std::generic_category().message(errno));
}

int wait_for(std::span<pollfd> any, std::chrono::milliseconds longest) {
  const int ready = ::poll(any.data(), any.size(), static_cast<int>(longest.count()));
  return ready < 0 && errno == EINTR ? 0 : ready;
}

/// Members that were asked and have not answered yet.
struct Asked {
  std::vector<UnforkedDescriptor> sockets;

  // Returns the first answer, or nothing after `longest`. Members that ended the connection without an answer are
  // removed.
  UnforkedDescriptor answer(std::chrono::milliseconds longest) {
    std::vector<pollfd> events;
    for (const UnforkedDescriptor& socket : sockets)
      events.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
    wait_for(events, longest);
    std::vector<UnforkedDescriptor> silent;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].revents == 0) {
        silent.push_back(std::move(sockets[i]));
      } else if (UnforkedDescriptor handed = receive_descriptor(events[i].fd)) {
        return handed;
      }
    }
    sockets = std::move(silent);
    return {};
  }
};

}  // namespace

// The holder of the turn listens at the name's socket. Others can then check its user, and their connections end when
// the turn is released.
UnforkedDescriptor Meeting::turn() const {
  const Deadline deadline(patience_);
  do {
    if (UnforkedDescriptor mine = listening(turn_name(), kType)) return mine;
    if (errno != EADDRINUSE) throw refused("cannot listen at a socket");
    const UnforkedDescriptor other = connected(turn_name(), kType);
    if (!other) {
      if (errno != ECONNREFUSED && errno != EAGAIN) throw refused("cannot connect to a socket");
      wait_for({}, kAskAgain);  // the holder is gone, or does not listen yet
      continue;
    }
    if (!is_of_this_user(other.get())) throw Error::resource("a process of another user has the name of the socket");
    std::array<pollfd, 1> end{pollfd{.fd = other.get(), .events = POLLIN, .revents = 0}};
    wait_for(end, deadline.left());
  } while (deadline.left() > std::chrono::milliseconds(0));
  throw Error::resource("another process that joins the cache does not finish");
}

// Skips places of other users. To keep this user's processes apart, another user would have to take all places.
UnforkedDescriptor Meeting::ask() const {
  const Deadline deadline(patience_);
  for (;;) {
    Asked asked;
    bool busy = false;  // more processes ask a member than its backlog holds
    for (unsigned number = 0; number < kPlaces; ++number) {
      UnforkedDescriptor member = connected(place_name(number), kType);
      if (!member && errno == EAGAIN) busy = true;
      if (!member && errno != ECONNREFUSED && errno != EAGAIN) throw refused("cannot connect to a socket");
      if (member && is_of_this_user(member.get())) asked.sockets.push_back(std::move(member));
    }
    while (!asked.sockets.empty() && deadline.left() > std::chrono::milliseconds(0)) {
      if (UnforkedDescriptor handed = asked.answer(deadline.left())) return handed;
    }
    if (!busy && asked.sockets.empty()) return {};
    if (deadline.left() == std::chrono::milliseconds(0))
      throw Error::resource("the processes that share the cache do not answer");
    wait_for({}, kAskAgain);
  }
}

UnforkedDescriptor Meeting::place(unsigned number) const {
  UnforkedDescriptor mine = listening(place_name(number), kType);
  if (!mine && errno != EADDRINUSE) throw refused("cannot listen at a socket");
  return mine;
}

}  // namespace penstock
