// One loader's use of the disk cache: files of its dataset as objects of the cache, and what its plan says of them.
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

/// The disk cache of a loader that reads from a store (EngineOptions::disk_cache). A thread of the cache reads the plan.
/// Until it has, blocks are kept if there is room.
class PlannedCache : public DiskCacheUse {
 public:
  /// All that is given is copied, but the program and the selection, which must live as long. `windows` may be null.
  /// Throws Error, where the cache cannot be used; the loader then goes on without, and says why.
  PlannedCache(std::shared_ptr<DiskCache> cache, const Dataset& dataset, const Program& program,
               const Selection& selection, std::shared_ptr<const Windows> windows, const PlanOptions& plan);
  ~PlannedCache() override;

  /// The scheduler is about to read the batch of this position: all before it, of this order, is read or on its way.
  /// `begins`: a run of batches begins there. To be called for each batch, by one thread at a time; cheap. Never
  /// throws.
  void reached(const Position& position, bool begins) noexcept;
  /// Of this loader; bytes_evicted, evicting, used and limit are of the folder, as this process sees it. Misses are
  /// blocks that came from the store.
  DiskCacheStats stats() const;
  const std::filesystem::path& path() const;
  std::string note() const;  ///< what people should know: "cache at DIR: ..."; empty: nothing
  /// Waits until the plan has been looked at, for tests and tools.
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

/// The disk cache that a loader asks for: LoaderOptions::disk_cache.
struct PlannedCacheOptions {
  std::filesystem::path folder = {};  ///< empty: none
  std::uint64_t limit = 0;            ///< bytes; 0: as the folder was made with, or nine tenths of what was free then
};

/// The cache for a dataset of which some file is an object. Null where no cache is asked for or none can be used; in
/// the second case `note` says why. Throws only when memory runs out.
std::shared_ptr<PlannedCache> open_planned_cache(const PlannedCacheOptions& options, const Dataset& dataset,
                                                 const Program& program, const Selection& selection,
                                                 std::shared_ptr<const Windows> windows, const PlanOptions& plan,
                                                 std::string& note);

}  // namespace penstock
