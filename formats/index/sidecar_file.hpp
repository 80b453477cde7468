// Decides which sidecars are trusted, and which process builds one.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include <formats/index/index.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/file_lock.hpp>
#include <penstock/open_options.hpp>

namespace penstock {

inline constexpr unsigned kSidecarMode = 0644;  ///< a file that others can write is not trusted

/// Returns the file at `place`, if it may be trusted to describe `shard` (is_believable). Throws Error: io, resource.
std::optional<FileBytes> read_believed(const std::filesystem::path& place, const std::filesystem::path& shard);

/// Returns whether another user owns the file at `place`. Such a file stays unchanged, and the sidecar goes elsewhere.
bool belongs_to_another(const std::filesystem::path& place);

/// Returns whether every file that the index names belongs to the shard: the shard itself or, for a folder, files that
/// a walk of the folder reaches. Links there are followed as in a walk. Hidden names are excluded.
bool names_only(const Index& index, const std::filesystem::path& shard);

/// Waits for sidecars that other processes build. The total time is limited.
class SidecarTurn {
 public:
  explicit SidecarTurn(const OpenProgress& progress);

  /// Returns nothing if the lock is not available (see FileLock), or if another process holds it for too long. Throws
  /// the errors of progress.wait.
  std::optional<FileLock> wait(const std::filesystem::path& lock);

 private:
  const OpenProgress& progress_;
  std::chrono::milliseconds left_;
};

}  // namespace penstock
