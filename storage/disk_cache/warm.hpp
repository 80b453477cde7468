// Fills a disk cache before training.
#pragma once

#include <cstdint>
#include <functional>

#include <penstock/dataset.hpp>
#include <storage/disk_cache/disk_cache.hpp>

namespace penstock {

struct Warmed {
  std::uint64_t bytes = 0;    ///< bytes of the dataset's objects in the cache now
  std::uint64_t fetched = 0;  ///< bytes fetched from the store for it
  std::uint64_t total = 0;    ///< bytes of all objects
};

/// Fetches the objects of a dataset in the order of its files while there is room. Blocks that a loader needs are not
/// evicted. Calls `progress(done, total)` several times per second; if it returns false, throws Error: resource,
/// "interrupted". Throws Error: invalid_argument, if the dataset has no object in a store; and the errors of reading.
Warmed warm(DiskCache& cache, const Dataset& dataset,
            const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace penstock
