// The memory of this process.
#pragma once

#include <cstdint>
#include <fstream>

#include <unistd.h>

namespace penstock::test {

inline std::uint64_t resident_bytes() {
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace penstock::test
