// The folder of a disk cache: its contents, its users, and the bytes it occupies.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>
#include <storage/disk_cache/shared_map.hpp>

namespace penstock {

/// Bytes charged for a file of `bytes` bytes: whole disk units, plus the disk's record of their location.
constexpr std::uint64_t charged(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = 4096, kNoted = 16;
  return (bytes + kUnit - 1) / kUnit * kUnit + kNoted;
}

/// A lock that one process holds briefly while it creates files that others must not create at the same time.
class FolderLock {
 public:
  /// Waits for at most a minute. `path` is used in messages. Throws Error: io.
  FolderLock(int fd, const std::filesystem::path& path);
  FolderLock(FolderLock&&) = delete;
  ~FolderLock();

 private:
  int fd_;
};

/// A folder that several processes use at once. Bytes are reserved before they are written, so the folder never exceeds
/// its limit. A killed process leaves its reservations; the next process that opens an unused folder counts again.
/// Thread-safe.
class CacheFolder {
 public:
  /// Throws as DiskCache::open(). If no other process uses the folder, calls `recount`, which returns the bytes that
  /// the folder occupies.
  CacheFolder(std::filesystem::path path, std::uint64_t limit,
              const std::function<std::uint64_t(const CacheFolder&)>& recount);

  const std::filesystem::path& path() const { return path_; }
  const Descriptor& objects() const { return objects_; }
  const Descriptor& plans() const { return plans_; }
  std::uint64_t unit() const { return unit_; }

  /// Returns false if there is no room.
  bool reserve(std::uint64_t bytes) noexcept;
  /// Reserves room for tables and plans. Evicts blocks for it, however soon they are needed.
  bool reserve_first(std::uint64_t bytes) noexcept;
  /// Sets the function that reserve_first() calls to make room. Call it before others use the folder.
  void evict_by(std::function<bool(std::uint64_t bytes)> evict) { evict_ = std::move(evict); }
  void release(std::uint64_t bytes) noexcept;
  std::uint64_t used() const noexcept;
  std::uint64_t limit() const noexcept;  ///< as it was set
  std::uint64_t room() noexcept;         ///< bytes it may occupy now, given the limit and the free disk space

  /// A thread holds it together with a FolderLock, because the threads of a process share the file lock.
  std::mutex& making() noexcept { return making_; }
  /// Opens a file of the folder with `flags`, and creates it with the folder's permissions. Returns -1 and sets errno
  /// on failure. Does not follow links.
  int open_file(const Descriptor& folder, const char* name, int flags) const noexcept;
  /// Ends caching in this process, permanently or for a while. The first reason is kept.
  void stop(std::string_view why) noexcept;
  void pause(std::string_view why) noexcept;
  bool stopped() const noexcept;
  std::string stop_reason() const;

 private:
  struct SharedCounts;
  void set_up(std::uint64_t limit, const std::function<std::uint64_t(const CacheFolder&)>& recount);
  void require_version();
  void require_holes(int fd) const;
  Descriptor made_folder(const char* name) const;
  bool change(std::uint64_t bytes, bool more) noexcept;
  void look_at_disk(bool now) noexcept;
  void say(std::string_view why) noexcept;

  std::filesystem::path path_;
  Descriptor folder_, objects_, plans_, users_;
  mode_t folder_mode_ = 0700, file_mode_ = 0600;
  std::uint64_t unit_ = 4096;
  SharedMap map_;
  SharedCounts* counts_ = nullptr;

  // Bytes of the disk that may still be used: the last measured free space, less the bytes reserved since then.
  std::atomic<std::int64_t> disk_left_{0};
  std::atomic<std::int64_t> looked_at_{0};  // nanoseconds of the steady clock

  std::function<bool(std::uint64_t bytes)> evict_;  // makes room and reserves it
  std::mutex making_;
  mutable std::mutex mutex_;  // guards reason_
  std::string reason_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> paused_until_{0};
};

}  // namespace penstock
