// Counts what this process reads.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace penstock::test {

/// Bytes that the read calls of this process have returned, also those from the page cache. man 5 proc, io.
inline std::uint64_t bytes_read() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  counters >> name >> value;
  REQUIRE(name == "rchar:");
  return value;
}

}  // namespace penstock::test
