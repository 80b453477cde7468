// Counts the threads of this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace penstock::test {

inline std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// The number of threads as soon as there are at most `wanted`, or after ten seconds. The system's list still contains
/// a thread for a moment after it was joined.
inline std::ptrdiff_t threads_down_to(std::ptrdiff_t wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (thread_count() > wanted && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return thread_count();
}

}  // namespace penstock::test
