// Sockets of the processes of one machine. A name ends with its process, even if the process is killed.
//
// The names are abstract (unix(7)). They occupy no file system, and are visible in one network namespace. Any user may
// take a name first. Each side therefore asks the system for the other's user (SO_PEERCRED) and talks only to its own
// user.
#pragma once

#include <string_view>

#include <base/unforked.hpp>

namespace penstock {

/// Returns a socket that listens under the name, or nothing. errno then says why: EADDRINUSE if the name is taken.
/// `type`: SOCK_SEQPACKET or SOCK_STREAM. Calls on the socket never block.
UnforkedDescriptor listening(std::string_view name, int type);
/// Returns a connection to the socket with that name, or nothing. errno then says why.
UnforkedDescriptor connected(std::string_view name, int type);
/// Returns true if the process at the other end of the socket belongs to this user.
bool is_of_this_user(int socket);

/// The next connection of a listening socket.
struct Guest {
  UnforkedDescriptor socket;        ///< empty: there is none
  bool out_of_descriptors = false;  ///< the system has no descriptor for it, so it keeps waiting
};
Guest next_of_any_user(int listening);  ///< of any socket, also of TCP
Guest next_guest(int listening);        ///< empty, too, if the connection belongs to another user

/// Lets one thread end the poll() of another one.
class WakeEvent {
 public:
  WakeEvent();                              ///< throws Error: resource
  int get() const { return event_.get(); }  ///< readable once it has rung
  void ring() const;
  void reset() const;

 private:
  UnforkedDescriptor event_;
};

}  // namespace penstock
