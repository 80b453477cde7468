// Decides which sidecars are believed, and which process makes one.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include <formats/index/index.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/file_lock.hpp>
#include <penstock/open_options.hpp>

namespace penstock {

inline constexpr unsigned kSidecarMode = 0644;  ///< others could not write what is believed

/// The file at `place`, if it may be believed to be of `shard` (is_believable). Throws Error: io, resource.
std::optional<FileBytes> read_believed(const std::filesystem::path& place, const std::filesystem::path& shard);

/// Something stands at `place` that another user put there: it is left alone, and the sidecar goes elsewhere.
bool belongs_to_another(const std::filesystem::path& place);

/// Every file that the index names is the shard's: the shard itself, or, where that is a folder, what a walk of it
/// comes to. Links are followed there as a walk follows them, hidden names are passed over.
bool names_only(const Index& index, const std::filesystem::path& shard);

/// Waits for sidecars that other processes make, for a bounded time in all.
class SidecarTurn {
 public:
  explicit SidecarTurn(const OpenProgress& progress);

  /// Nothing when there is no such lock to be had: see FileLock, or because another process keeps it for too long.
  /// Throws what progress.wait throws.
  std::optional<FileLock> wait(const std::filesystem::path& lock);

 private:
  const OpenProgress& progress_;
  std::chrono::milliseconds left_;
};

}  // namespace penstock
