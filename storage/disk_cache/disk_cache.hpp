// The cache of a node: a folder on its disk with blocks of objects that lie in stores, shared by ranks and jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <penstock/storage.hpp>

namespace penstock {

struct StoredObject;
class PublishedPlan;
struct PublishedPlanOptions;

/// An object's blocks. Any number of threads and processes may use them, and none waits for another, but for room.
/// Nothing throws.
class CachedObject {
 public:
  ~CachedObject();
  std::uint64_t block_bytes() const noexcept;  ///< the last one may be shorter
  std::uint64_t block_count() const noexcept;
  bool has(std::uint64_t block) const noexcept;
  /// Bytes of one block or several. False where one is not there, or is not what was kept: it is dropped, and `bytes`
  /// may hold anything. They may lie anywhere in the object.
  bool read(std::uint64_t offset, std::span<std::byte> bytes) noexcept;
  /// Keeps a whole block, unless there is no room and everything kept is wanted before it, as the plans of all who live
  /// have it; without `evicts`, only where there is room. True where it is there now.
  bool keep(std::uint64_t block, std::span<const std::byte> bytes, bool evicts = true) noexcept;
  /// A plan says anew when a block is wanted that is there.
  void planned(std::uint64_t block) noexcept;
  DiskCacheStats stats() const;  ///< of this object in this process, without those of the folder

 private:
  friend class DiskCache;
  struct State;
  explicit CachedObject(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// One object of a cache, for people.
struct CachedObjectInfo {
  std::string address;  ///< without what stands behind "?" in it
  std::string version;
  std::uint64_t size = 0, block_bytes = 0;
  std::uint64_t kept = 0;       ///< bytes of it that are there
  std::uint32_t wanted_by = 0;  ///< loaders that live and will read it
};

struct CacheUser {
  std::int64_t pid = 0;
  std::uint64_t objects = 0;  ///< that it will read
};

/// A process's view of a folder. Any number of threads may use it.
class DiskCache {
 public:
  /// `dir`: LoaderOptions::disk_cache.path; `limit`: LoaderOptions::disk_cache.limit, which becomes the folder's for
  /// all who use it. The folder is made where it is not there, for this user alone. One that was made for a group
  /// (writable by it, with the setgid bit) is shared by it. Throws Error: invalid_argument, for a folder of somebody
  /// else, one that is open to all, a link, or one on a file system of a network; unsupported, for one of another
  /// version of penstock, or whose file system cannot give room back; io; resource.
  static std::shared_ptr<DiskCache> open(const std::filesystem::path& dir, std::uint64_t limit);
  /// "auto" and others, as a path: that of the job's own temporary folder (SLURM_TMPDIR, TMPDIR, ...), else /tmp.
  static std::filesystem::path resolved(const std::filesystem::path& dir);
  ~DiskCache();

  const std::filesystem::path& path() const;
  /// Null where an object cannot be told from its next version, or there is no room for its table. `mean_value`: bytes
  /// of what is read of it at a time, which says how large blocks are made where nobody has made them yet; they have an
  /// eighth of it, from 4 KiB to 256 KiB. Throws Error: io; resource.
  std::shared_ptr<CachedObject> object(const StoredObject& object, std::uint64_t mean_value);
  /// Tells all who use the folder when a loader will want blocks of these; ends with what is returned, which must not
  /// outlive the cache. Throws Error: io; resource.
  std::unique_ptr<PublishedPlan> publish(std::span<const std::shared_ptr<CachedObject>> objects,
                                         const PublishedPlanOptions& options);

  std::uint64_t used() const;   ///< bytes that the folder takes, reserved ones included
  std::uint64_t limit() const;  ///< bytes that it may take, now: a full disk allows less than what was set
  DiskCacheStats stats() const;
  std::string stopped() const;  ///< why nothing more is kept: "no space left on device"; empty: it is
  std::vector<CachedObjectInfo> objects() const;
  std::vector<CacheUser> users() const;
  /// Removes what is kept, beside loaders that use it, too: they fetch it again. Returns bytes.
  std::uint64_t clear();

 private:
  friend class CachedObject;
  struct State;
  explicit DiskCache(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock
