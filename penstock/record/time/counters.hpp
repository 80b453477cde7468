// The counters of a loader, and the table that defines each of them.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <penstock/storage/disk_cache/node_cache_stats.hpp>
#include <penstock/storage/read/read_engine.hpp>
#include <penstock/storage/value_options.hpp>

namespace penstock {

/// The cache of samples. Where processes of the node share it, hits and misses are this loader's, the rest is all
/// members'.
struct CacheStats {
  std::uint64_t reserved = 0, used = 0, values = 0, hits = 0, misses = 0, hits_of_others = 0, members = 0;
  friend bool operator==(const CacheStats&, const CacheStats&) = default;
};

/// The numbers of a loader. counters() says what each of them means. All members have 64 bits: they are also the words
/// of a live page (record/watch/live_page.hpp).
struct Counts {
  std::uint64_t rank = 0, world = 1;
  std::uint64_t samples = 0, batches = 0, epochs = 0;
  std::uint64_t bytes_read = 0, stored_bytes = 0, bytes_delivered = 0;
  std::chrono::nanoseconds wall{}, first_batch{}, consumer_wait{}, consumer_busy{};
  std::uint64_t batches_taken = 0, batches_ready = 0;
  std::chrono::nanoseconds workers_on_cores{}, workers_await_cores{}, own_step_on_cores{}, own_step_awaits_lock{};
  std::uint64_t workers = 0, workers_now = 0, workers_max = 0, workers_observed = 0;
  std::uint64_t slabs = 0, slab_bytes = 0, held_max_bytes = 0, window_bytes = 0, block_cache_bytes = 0;
  std::uint64_t device_slabs = 0, device_bytes = 0, copied_bytes = 0;
  std::chrono::nanoseconds copy_time{};
  std::uint64_t gpu_direct_bytes = 0, gpu_jpeg_rows = 0, gpu_jpeg_refused = 0;
  std::uint64_t blocks_undone = 0;
  CheckStats checks;
  std::uint64_t bad_samples = 0, excluded_samples = 0, later_failures = 0;
  EngineStats reads;
  NodeCacheStats node_cache;  ///< zeros without a disk cache
  CacheStats cache;
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// An entry of the table: everything that prints, adds, resets or publishes counters goes by it.
struct Counter {
  enum class Unit : std::uint8_t { number, bytes, time };
  enum class Rule : std::uint8_t {
    counts,  ///< add() sums it, and reset_stats() starts it at zero again
    peaks,   ///< add() keeps the largest, and reset_stats() leaves it
    stands,  ///< add() keeps the first, and reset_stats() leaves it
  };
  std::string_view group;  ///< the nested dict of Loader.stats() and of JSON that holds it; empty: the outer one
  std::string_view name;   ///< its key there; the value is in bytes, or in seconds where the name ends with "_s"
  Unit unit{};
  Rule rule{};
  std::uint64_t (*get)(const Counts& counts);  ///< times in nanoseconds
  void (*set)(Counts& counts, std::uint64_t value);
  std::string_view meaning;  ///< a sentence
  /// Its OpenMetrics family, without "penstock_" and "_total"; empty: group and name make it; kNoFamily: it has none.
  std::string_view metric;
  static constexpr std::string_view kNoFamily = "-";
};

/// The table, in the order in which Loader.stats() has them.
std::span<const Counter> counters();

/// Calls each(counter) for those of one group.
template <std::invocable<const Counter&> Each>
void each_counter(std::string_view group, Each each) {
  for (const Counter& counter : counters())
    if (counter.group == group) each(counter);
}

/// Adds what another loader with the same options counted, each counter by its rule.
void add(Counts& sum, const Counts& more);
/// Takes away what was counted until `before`.
void subtract(Counts& counts, const Counts& before);

}  // namespace penstock
