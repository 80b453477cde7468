// A lock between processes: a file that only one of them holds.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// Locks `path` with flock(). The file is created if missing, never followed if it is a link, and removed at the end.
/// The kernel releases the lock when a process dies.
class FileLock {
 public:
  /// Waits for the current holder while `go_on` returns true. `go_on` is called ten times per second. Returns nothing
  /// if `go_on` returns false, if the file cannot be created there, or if the file system has no locks.
  static std::optional<FileLock> wait_while(const std::filesystem::path& path, const std::function<bool()>& go_on);

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace penstock
