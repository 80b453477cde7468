// Fills a disk cache before a training begins.
#pragma once

#include <cstdint>
#include <functional>

#include <penstock/dataset.hpp>
#include <storage/disk_cache/disk_cache.hpp>

namespace penstock {

struct Warmed {
  std::uint64_t bytes = 0;    ///< of the dataset's objects that the cache has now
  std::uint64_t fetched = 0;  ///< of those, that came from their store
  std::uint64_t total = 0;    ///< of all objects
};

/// Brings the objects of a dataset in the order of its files, as long as there is room: nothing is evicted for them
/// that somebody wants. `progress(done, total)` is called some times a second; where it is false, Error: resource,
/// "interrupted". Throws Error: invalid_argument, for a dataset that lies in no store; what reading throws.
Warmed warm(DiskCache& cache, const Dataset& dataset,
            const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace penstock
