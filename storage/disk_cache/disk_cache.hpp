// The disk cache of a node: a folder with blocks of remote objects, shared by ranks and jobs.
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

/// The blocks of one object. Any number of threads and processes may use them. No function waits for another user,
/// except to make room. No function throws.
class CachedObject {
 public:
  ~CachedObject();
  std::uint64_t block_bytes() const noexcept;  ///< the last block may be shorter
  std::uint64_t block_count() const noexcept;
  bool has(std::uint64_t block) const noexcept;
  /// Reads any range of the object, from one block or several. Returns false if a block is missing or invalid; `bytes`
  /// may then contain anything. An invalid block is dropped.
  bool read(std::uint64_t offset, std::span<std::byte> bytes) noexcept;
  /// Keeps a whole block. If the cache is full, evicts blocks that all live plans need later than this one. If no such
  /// block exists, the new block is not kept. With `evicts` false, keeps it only if there is room. Returns true if the
  /// block is cached now.
  bool keep(std::uint64_t block, std::span<const std::byte> bytes, bool evicts = true) noexcept;
  /// Reports that a plan has a new next use for a cached block.
  void planned(std::uint64_t block) noexcept;
  DiskCacheStats stats() const;  ///< of this object in this process, without the folder's counts

 private:
  friend class DiskCache;
  struct State;
  explicit CachedObject(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Description of a cached object, for display.
struct CachedObjectInfo {
  std::string address;  ///< without the query after "?"
  std::string version;
  std::uint64_t size = 0, block_bytes = 0;
  std::uint64_t kept = 0;       ///< bytes of it that are cached
  std::uint32_t wanted_by = 0;  ///< live loaders that will read it
};

struct CacheUser {
  std::int64_t pid = 0;
  std::uint64_t objects = 0;  ///< objects that it will read
};

/// A process's view of a cache folder. Thread-safe.
class DiskCache {
 public:
  /// `dir` is LoaderOptions::disk_cache.path. `limit` is LoaderOptions::disk_cache.limit and becomes the limit of all
  /// users of the folder. Creates a missing folder for this user only. A folder made for a group (group-writable, with
  /// the setgid bit) is shared by that group. Throws Error: invalid_argument, if the folder belongs to another user, is
  /// world-writable, is a link, or is on a network file system; unsupported, if it belongs to another version of
  /// penstock or its file system cannot punch holes; io; resource.
  static std::shared_ptr<DiskCache> open(const std::filesystem::path& dir, std::uint64_t limit);
  /// Converts `dir` to a path: "auto" is a folder in the job's temporary folder (SLURM_TMPDIR, TMPDIR, ...), or in
  /// /tmp.
  static std::filesystem::path resolved(const std::filesystem::path& dir);
  ~DiskCache();

  const std::filesystem::path& path() const;
  /// Returns null if two versions of the object cannot be distinguished, or if its table does not fit.
  /// `mean_value` is the mean number of bytes per read. The first user of an object sets its block size: an eighth of
  /// `mean_value`, from 4 KiB to 256 KiB. Throws Error: io; resource.
  std::shared_ptr<CachedObject> object(const StoredObject& object, std::uint64_t mean_value);
  /// Publishes when a loader needs which blocks of these objects, for all users of the folder. The plan ends when the
  /// returned object is destroyed, which must not outlive the cache. Throws Error: io; resource.
  std::unique_ptr<PublishedPlan> publish(std::span<const std::shared_ptr<CachedObject>> objects,
                                         const PublishedPlanOptions& options);

  std::uint64_t used() const;   ///< bytes that the folder occupies, with reserved ones
  std::uint64_t limit() const;  ///< bytes it may occupy now: a full disk allows less than the set limit
  DiskCacheStats stats() const;
  std::string stopped() const;  ///< reason why caching ended, such as "no space left on device"; empty: it continues
  std::vector<CachedObjectInfo> objects() const;
  std::vector<CacheUser> users() const;
  /// Removes all cached blocks, even while loaders use them; they fetch them again. Returns the number of bytes.
  std::uint64_t clear();

 private:
  friend class CachedObject;
  struct State;
  explicit DiskCache(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock
