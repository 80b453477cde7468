// The sockets that libcurl waits for, in an epoll descriptor that is updated as rarely as possible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sys/epoll.h>

namespace penstock {

/// libcurl starts and ends its interest in a connection with every request. The end of an interest is not passed to
/// epoll until such a socket reports an event. A reused connection therefore costs no system call. Not thread-safe,
/// except wake().
class Sockets {
 public:
  struct Event {
    int socket;
    bool in, out, failed;
  };

  Sockets();  ///< throws Error: resource
  Sockets(Sockets&&) = delete;
  ~Sockets();

  void want(int socket, bool in, bool out);  ///< neither: not for now
  void forget(int socket);                   ///< call it before the socket is closed
  /// Waits for events, wake(), or `milliseconds` (-1: no limit). The result is valid until the next call.
  std::span<const Event> wait(int milliseconds);
  void wake() noexcept;

 private:
  struct Known {
    std::uint32_t told = 0;    // events passed to epoll; 0: not in epoll
    std::uint32_t wanted = 0;  // events that libcurl needs
  };
  void tell(int socket, std::uint32_t events);

  int epoll_ = -1;
  int wake_ = -1;
  std::vector<Known> known_;  // by socket
  std::vector<epoll_event> raw_;
  std::vector<Event> events_;
};

}  // namespace penstock
