// Lets processes of one user on a node find each other by names of sockets (local_socket.hpp).
#pragma once

#include <chrono>
#include <string>

#include <base/unforked.hpp>

namespace penstock {

/// A group of processes with a common name. Each member has a place, which is a socket that answers newcomers. One
/// living member is therefore enough to join. Thread-safe.
class Meeting {
 public:
  static constexpr unsigned kPlaces = 256;  ///< members at a time

  /// `patience`: the maximum time that turn() and ask() wait for other processes.
  explicit Meeting(std::string name, std::chrono::milliseconds patience = std::chrono::seconds(10))
      : name_(std::move(name)), patience_(patience) {}

  /// Acquires a lock between processes with this name, so that they join one after the other. The lock is held as
  /// long as the descriptor is open. Throws Error: resource, if another user has the name or the holder does not
  /// release it in time.
  UnforkedDescriptor turn() const;
  /// Returns the descriptor that the members send, or nothing if there is no member. Throws Error: resource, if there
  /// are members and none answers in time.
  UnforkedDescriptor ask() const;
  /// Returns the socket of that place, at which newcomers ask, or nothing if its name is taken. Throws Error:
  /// resource.
  UnforkedDescriptor place(unsigned number) const;

 private:
  std::string turn_name() const { return name_ + "-turn"; }
  std::string place_name(unsigned number) const { return name_ + "-" + std::to_string(number); }

  std::string name_;
  std::chrono::milliseconds patience_;
};

}  // namespace penstock
