// The sockets that libcurl waits for, in an epoll descriptor that is told as little as possible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sys/epoll.h>

namespace penstock {

/// libcurl begins and ends its interest in a connection with every request. Ends are kept to ourselves, until such a
/// socket shows an event: a connection that is used again then costs no system call. One thread; wake() any.
class Sockets {
 public:
  struct Event {
    int socket;
    bool in, out, failed;
  };

  Sockets();  ///< throws Error: resource
  Sockets(Sockets&&) = delete;
  ~Sockets();

  void want(int socket, bool in, bool out);  ///< neither: nothing for now
  void forget(int socket);                   ///< before it is closed
  /// Waits for events, wake(), or the end of so many milliseconds (-1: for ever). Valid until the next call.
  std::span<const Event> wait(int milliseconds);
  void wake() noexcept;

 private:
  struct Known {
    std::uint32_t told = 0;    // to epoll; 0: it does not have the socket
    std::uint32_t wanted = 0;  // by libcurl
  };
  void tell(int socket, std::uint32_t events);

  int epoll_ = -1;
  int wake_ = -1;
  std::vector<Known> known_;  // by socket
  std::vector<epoll_event> raw_;
  std::vector<Event> events_;
};

}  // namespace penstock
