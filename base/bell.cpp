#include <ctime>

#include <sched.h>

#include <base/bell.hpp>

namespace penstock {
namespace {

// A ring often comes within a few of these calls, which cost less than sleeping and waking. On a busy core other
// threads use the time.
constexpr int kYields = 32;

}  // namespace

void Bell::wait(std::chrono::milliseconds longest) noexcept {
  for (int yields = 0; yields < kYields; ++yields) {
    if (::sem_trywait(&rings_) == 0) return;
    ::sched_yield();
  }
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(longest);
  until.tv_sec += seconds.count();
  until.tv_nsec += std::chrono::nanoseconds(longest - seconds).count();
  if (until.tv_nsec >= 1'000'000'000) {
    ++until.tv_sec;
    until.tv_nsec -= 1'000'000'000;
  }
  ::sem_timedwait(&rings_, &until);
}

}  // namespace penstock
