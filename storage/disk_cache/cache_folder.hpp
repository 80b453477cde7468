// The folder of a disk cache: what is in it, who uses it, and how many bytes it takes.
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

/// What a file of so many bytes is counted as: whole units of the disk, and what the disk notes of where they lie.
constexpr std::uint64_t charged(std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = 4096, kNoted = 16;
  return (bytes + kUnit - 1) / kUnit * kUnit + kNoted;
}

/// Held by one process, for moments, while it makes what others must not make at the same time.
class FolderLock {
 public:
  /// Waits for a minute at most. `path` is for messages. Throws Error: io.
  FolderLock(int fd, const std::filesystem::path& path);
  FolderLock(FolderLock&&) = delete;
  ~FolderLock();

 private:
  int fd_;
};

/// Used by several processes at once. Bytes are reserved before they are written, so that the folder never takes more
/// than its limit; what a process that is killed had reserved is found again when the folder is next opened by one that
/// is alone. Any number of threads may use it.
class CacheFolder {
 public:
  /// As DiskCache::open(). `recount` is called where no other process uses the folder, and returns the bytes that
  /// it takes.
  CacheFolder(std::filesystem::path path, std::uint64_t limit,
              const std::function<std::uint64_t(const CacheFolder&)>& recount);

  const std::filesystem::path& path() const { return path_; }
  const Descriptor& objects() const { return objects_; }
  const Descriptor& plans() const { return plans_; }
  std::uint64_t unit() const { return unit_; }

  /// False where there is no room.
  bool reserve(std::uint64_t bytes) noexcept;
  /// The same for tables and plans, for which blocks are evicted, whenever they are wanted.
  bool reserve_first(std::uint64_t bytes) noexcept;
  /// What reserve_first() asks for room; set before others use the folder.
  void evict_by(std::function<bool(std::uint64_t bytes)> evict) { evict_ = std::move(evict); }
  void release(std::uint64_t bytes) noexcept;
  std::uint64_t used() const noexcept;
  std::uint64_t limit() const noexcept;  ///< as it was set
  std::uint64_t room() noexcept;         ///< bytes that it may take now: of the limit, and of what is free on the disk

  /// Held by a thread beside a FolderLock, which the threads of a process share.
  std::mutex& making() noexcept { return making_; }
  /// A file of the folder, made as `flags` say, for who may have it; -1 and errno. Links are not followed.
  int open_file(const Descriptor& folder, const char* name, int flags) const noexcept;
  /// Nothing more is kept by this process, for good or for a while. The first reason stays.
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

  // What may still be taken of the disk: as it was last looked at, less what was taken since.
  std::atomic<std::int64_t> disk_left_{0};
  std::atomic<std::int64_t> looked_at_{0};  // nanoseconds of the steady clock

  std::function<bool(std::uint64_t bytes)> evict_;  // reserves, too
  std::mutex making_;
  mutable std::mutex mutex_;  // guards reason_
  std::string reason_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> paused_until_{0};
};

}  // namespace penstock
