// Publishes when a loader next needs which block, for all users of a disk cache.
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
  std::uint64_t pace = 0;       ///< plans of equal pace advance together, as the ranks of a training
  std::uint64_t in_flight = 0;  ///< a use this many steps ago may still be unread
  std::uint64_t longest = 0;    ///< maximum number of steps published ahead
};

/// A file in plans/ that its loader keeps locked, so the plan ends with the process, even if it is killed:
///
///     a page     owner, speed and current step
///     objects    32 bytes each: id, number of the first entry, number of blocks; sorted by id
///     entries    4 bytes each: next step that needs the block, in units of the page; 0: unknown
///
/// Steps are stored modulo 2^32 units; a past step is at most 2^31 units away. Thread-safe.
class PublishedPlan {
 public:
  struct Object {
    CachedObjectId id;
    std::uint64_t blocks;
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// Throws Error: io; resource, if there is no room.
  PublishedPlan(CacheFolder& folder, std::span<const Object> objects, const PublishedPlanOptions& options);
  /// Removes the file; does nothing in a child of fork().
  ~PublishedPlan();

  /// Sets the next use of a block. `object` is the index in the constructor's list. kNever: no use is known.
  void set(std::size_t object, std::uint64_t block, std::uint64_t step) noexcept;
  /// Sets the next use if it is earlier than the published one, or if none is published or it has passed.
  void set_earlier(std::size_t object, std::uint64_t block, std::uint64_t step) noexcept;
  void now(std::uint64_t step, double steps_per_second) noexcept;
  /// Clears all next uses.
  void forget() noexcept;

 private:
  std::uint32_t told(std::uint64_t step) const;
  std::uint32_t* place(std::size_t object, std::uint64_t block) const;

  CacheFolder& folder_;
  const std::int64_t owner_;
  std::string name_;
  Descriptor file_;
  SharedMap map_;
  std::vector<std::uint64_t> first_, blocks_;  // of each object, in the given order
  std::uint64_t entries_at_ = 0;
  unsigned shift_ = 0;
};

/// The view of a plan in the folder, from this process or another.
class PlanView {
 public:
  static constexpr double kFar = std::numeric_limits<double>::infinity();

  /// Returns null if the file is not a plan or its loader has ended. In the second case removes the file.
  static std::shared_ptr<PlanView> open(CacheFolder& folder, const std::string& name);
  /// Returns true if its loader is running. Otherwise removes the file.
  bool lives() noexcept;

  std::uint64_t pace() const { return pace_; }
  std::int64_t pid() const { return pid_; }
  std::size_t objects() const { return objects_; }
  double rate() const noexcept;  ///< steps per second; 0: unknown
  double now() const noexcept;   ///< steps; only differences have a meaning
  /// Returns the entries of an object; null if the loader does not read it.
  const std::uint32_t* entries(const CachedObjectId& id, std::uint64_t blocks) const noexcept;
  /// Returns the number of steps until the block of this entry is needed; kFar if that is unknown or past.
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
