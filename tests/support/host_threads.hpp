// What of the process and its threads a test asks the system, or takes from it.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

#include <sched.h>
#include <sys/resource.h>

namespace penstock::test {

inline std::string thread_name() {
  std::string name;
  std::getline(std::ifstream("/proc/thread-self/comm"), name);
  return name;
}

/// While this lives, the calling thread and those it starts have one core.
struct OneCore {
  OneCore() {
    CPU_ZERO(&before);
    sched_getaffinity(0, sizeof before, &before);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &before)) continue;
      CPU_SET(core, &one);
      break;
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;
  ~OneCore() { sched_setaffinity(0, sizeof before, &before); }
  cpu_set_t before;
};

/// Of all the process's threads, since it began.
inline double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace penstock::test
