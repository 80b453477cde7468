// When a loader next wants which block, told to all who use a disk cache.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <storage/disk_cache/object_table.hpp>
#include <storage/disk_cache/shared_map.hpp>

namespace penstock {

struct PublishedPlanOptions {
  std::uint64_t pace = 0;       ///< steps of equal pace go by together: those of the ranks of a training
  std::uint64_t in_flight = 0;  ///< what was wanted so many steps ago may still be about to be read
  std::uint64_t longest = 0;    ///< steps ahead that are told at most
};

/// A file of plans/ that its loader holds locked, so that it ends with the process, however that ends:
///
///     a page     who it is, how fast it goes, and the step that it is at now
///     objects    32 bytes each: id, number of the first entry, number of blocks; by rising id
///     entries    4 bytes each: the step that next wants the block, in units of the page's; 0: none is known
///
/// Steps are told modulo 2^32 units; what lies behind is at most 2^31 of them away. Any number of threads may use it.
class PublishedPlan {
 public:
  struct Object {
    CachedObjectId id;
    std::uint64_t blocks;
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// Throws Error: io; resource, where there is no room.
  PublishedPlan(CacheFolder& folder, std::span<const Object> objects, const PublishedPlanOptions& options);
  /// Removes it; in a child of fork() it does nothing.
  ~PublishedPlan();

  /// `object`: as they were given. kNever: not as far as is known.
  void set(std::size_t object, std::uint64_t block, std::uint64_t step) noexcept;
  /// The same as set(), where that is sooner than what is told, or nothing is told.
  void set_earlier(std::size_t object, std::uint64_t block, std::uint64_t step) noexcept;
  void now(std::uint64_t step, double steps_per_second) noexcept;
  /// None is known of any block.
  void forget() noexcept;

 private:
  std::uint32_t told(std::uint64_t step) const;
  std::uint32_t* place(std::size_t object, std::uint64_t block) const;

  CacheFolder& folder_;
  const std::int64_t owner_;
  std::string name_;
  Descriptor file_;
  SharedMap map_;
  std::vector<std::uint64_t> first_, blocks_;  // of each object as given
  std::uint64_t entries_at_ = 0;
  unsigned shift_ = 0;
};

/// Another's plan, or one's own, as it stands in the folder.
class PlanView {
 public:
  static constexpr double kFar = std::numeric_limits<double>::infinity();

  /// Null where it is not a plan, or its loader is gone: then it is removed.
  static std::shared_ptr<PlanView> open(CacheFolder& folder, const std::string& name);
  /// Its loader lives. Where it does not, the file is removed.
  bool lives() noexcept;

  std::uint64_t pace() const { return pace_; }
  std::int64_t pid() const { return pid_; }
  std::size_t objects() const { return objects_; }
  double rate() const noexcept;  ///< steps a second; 0: not known
  double now() const noexcept;   ///< steps, of which it only matters how they change
  /// The entries of an object; null where it reads none of it.
  const std::uint32_t* entries(const CachedObjectId& id, std::uint64_t blocks) const noexcept;
  /// Steps from now until the block of that entry is wanted; kFar.
  double away(std::uint32_t entry, std::uint32_t now) const noexcept;
  std::uint32_t now_told() const noexcept;

 private:
  PlanView(CacheFolder& folder, std::string name, Descriptor file, SharedMap map);
  bool read_page(std::uint64_t file_bytes);

  CacheFolder& folder_;
  const std::string name_;
  const Descriptor file_;
  const SharedMap map_;
  std::uint64_t pace_ = 0, in_flight_ = 0, entries_ = 0, entries_at_ = 0, start_ = 0, pid_space_ = 0;
  std::int64_t pid_ = 0;
  std::size_t objects_ = 0;
  unsigned shift_ = 0;
};

}  // namespace penstock
