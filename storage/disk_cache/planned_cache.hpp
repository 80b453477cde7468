// One loader's use of the disk cache: maps files of its dataset to cached objects, and publishes its plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <order/plan.hpp>
#include <order/position.hpp>
#include <order/selection.hpp>
#include <order/windows/windows.hpp>
#include <penstock/dataset.hpp>
#include <storage/disk_cache/disk_cache.hpp>
#include <storage/read/disk_cache_use.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// The disk cache of a loader that reads from a store (EngineOptions::disk_cache). A thread of the cache computes the
/// plan. Until the plan is ready, blocks are kept only if there is room.
class PlannedCache : public DiskCacheUse {
 public:
  /// Copies its arguments, except `program` and `selection`, which must outlive it. `windows` may be null. Throws Error
  /// if the cache cannot be used; the loader then runs without it and reports the reason.
  PlannedCache(std::shared_ptr<DiskCache> cache, const Dataset& dataset, const Program& program,
               const Selection& selection, std::shared_ptr<const Windows> windows, const PlanOptions& plan);
  ~PlannedCache() override;

  /// The scheduler calls it before it reads the batch at `position`: all earlier batches of this order are read or in
  /// flight. `begins` is true if a run of batches begins there. Must be called for each batch, by one thread at a time.
  /// Cheap; never throws.
  void reached(const Position& position, bool begins) noexcept;
  /// Returns the counts of this loader. bytes_evicted, evicting, used and limit refer to the folder, as this process
  /// sees it. Misses are blocks that came from the store.
  DiskCacheStats stats() const;
  const std::filesystem::path& path() const;
  std::string note() const;  ///< message for users, such as "cache at DIR: ..."; may be empty
  /// Waits until the plan is published; for tests and tools.
  void wait_planned();

  std::uint64_t block_bytes(std::uint32_t file) const noexcept override;
  bool has(std::uint32_t file, std::uint64_t block) const noexcept override;
  bool read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> bytes) noexcept override;
  void keep(std::uint32_t file, std::uint64_t block, std::span<const std::byte> bytes) noexcept override;
  void used(std::uint32_t file, std::uint64_t block) noexcept override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Disk cache options of a loader: LoaderOptions::disk_cache.
struct PlannedCacheOptions {
  std::filesystem::path folder = {};  ///< empty: no cache
  std::uint64_t limit = 0;            ///< bytes; 0: the folder's limit, or 90 % of the free space when it was made
};

/// Opens the cache for a dataset with at least one object. Returns null if no cache is requested or it cannot be used;
/// in the second case `note` has the reason. Throws only if memory runs out.
std::shared_ptr<PlannedCache> open_planned_cache(const PlannedCacheOptions& options, const Dataset& dataset,
                                                 const Program& program, const Selection& selection,
                                                 std::shared_ptr<const Windows> windows, const PlanOptions& plan,
                                                 std::string& note);

}  // namespace penstock
