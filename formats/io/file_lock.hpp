// A lock between processes: a file that only one of them holds.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include <formats/io/descriptor.hpp>

namespace penstock {

/// Holds `path` (created when missing, never followed where it is a link) by flock, and removes it when done. The
/// kernel lets go when a process dies.
class FileLock {
 public:
  /// Waits for whoever holds it, for as long as `go_on`, which is called ten times a second meanwhile, returns true.
  /// Nothing when it does not, when the file cannot be created there, or when its file system has no locks.
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
