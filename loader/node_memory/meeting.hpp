// Where processes of one user on a node find each other: names of sockets, which end with the processes.
//
// The names are abstract (unix(7)): they take no place in any file system, are known to the processes of one network
// namespace, and are free again the moment their process is gone, killed or not. Anybody may take a name before us,
// so each side asks the system whose the other is (SO_PEERCRED) and talks to its own user alone.
#pragma once

#include <chrono>
#include <string>

#include <base/unforked.hpp>

namespace penstock {

/// Those who know the same name. Each member has a place of its own, a socket at which it answers newcomers, so that
/// any one that lives is enough. Any number of threads may use it.
class Meeting {
 public:
  static constexpr unsigned kPlaces = 256;  ///< members at a time

  /// `patience`: for how long turn() and ask() wait for others at most.
  explicit Meeting(std::string name, std::chrono::milliseconds patience = std::chrono::seconds(10))
      : name_(std::move(name)), patience_(patience) {}

  /// While the caller holds it, nobody else of this name has one: who comes at the same time comes one by one. Throws
  /// Error: resource, when another user has the name, or nobody gives it back in time.
  UnforkedDescriptor turn() const;
  /// The descriptor that the members hand out; none where there is no member. Throws Error: resource, when there are
  /// members and none answers in time.
  UnforkedDescriptor ask() const;
  /// The socket of that place, at which others may ask; none where its name is taken. Throws Error: resource.
  UnforkedDescriptor place(unsigned number) const;

 private:
  std::string turn_name() const { return name_ + "-turn"; }
  std::string place_name(unsigned number) const { return name_ + "-" + std::to_string(number); }

  std::string name_;
  std::chrono::milliseconds patience_;
};

/// The other end of a socket is a process of this user.
bool is_of_this_user(int socket);

}  // namespace penstock
