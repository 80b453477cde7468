// A folder of temporary files of the test's own, in which processes share tables.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "support/temporary_folder.hpp"

namespace penstock::test {

/// $TMPDIR leads there as long as it lives.
class TemporaryPlace {
 public:
  TemporaryPlace() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;
  ~TemporaryPlace() {
    if (before_.empty()) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", before_.c_str(), 1);
    }
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  /// Where this user's shared tables lie.
  std::filesystem::path shared() const { return path() / ("penstock-" + std::to_string(::geteuid())); }

 private:
  TemporaryFolder folder_;
  std::string before_;
};

}  // namespace penstock::test
