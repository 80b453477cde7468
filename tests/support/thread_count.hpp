// Counts the threads of this process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace penstock::test {

inline std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace penstock::test
