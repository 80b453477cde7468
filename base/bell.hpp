// Wakes waiting threads, one for each ring.
#pragma once

#include <chrono>

#include <semaphore.h>

namespace penstock {

/// A semaphore of POSIX whose waiting threads first let other threads run. Not std::counting_semaphore: before GCC 12.3
/// its threads may sleep forever (https://gcc.gnu.org/PR104928). All methods are thread-safe.
class Bell {
 public:
  Bell() { ::sem_init(&rings_, 0, 0); }
  Bell(Bell&&) = delete;
  ~Bell() { ::sem_destroy(&rings_); }

  void ring() noexcept { ::sem_post(&rings_); }
  /// Returns after a ring, after `longest`, or without a reason; late if the system's clock is set meanwhile.
  void wait(std::chrono::milliseconds longest) noexcept;

 private:
  sem_t rings_{};
};

}  // namespace penstock
