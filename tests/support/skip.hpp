// Lets a test case say that it cannot run here.
#pragma once

#include <string>

#include <doctest/doctest.h>

namespace penstock::test {

inline constexpr const char* kSkipMark = "skipped: ";

/// The test case counts as skipped, for that reason; it then returns. A program whose cases are all skipped is a
/// skipped test for ctest.
inline void skip(const std::string& reason) {
  MESSAGE(kSkipMark << reason);
}

}  // namespace penstock::test
