// The statistics of a loader: where its time went. They are always on, and add up.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <penstock/record/time/counters.hpp>
#include <penstock/record/time/histogram.hpp>
#include <penstock/record/time/levels.hpp>
#include <penstock/record/time/read_span.hpp>
#include <penstock/storage/disk_cache/node_cache_stats.hpp>
#include <penstock/storage/read/read_engine.hpp>

namespace penstock {

/// Times of a stage, summed over its threads.
struct StageStats {
  std::string name;  ///< one of StageClocks::kNames, or of a Stage of the loader's line: deliver, on_batch, copy
  unsigned threads = 0;
  /// Working; waiting for input; waiting for room. Of `copy`, the device works, while its thread waits.
  std::chrono::nanoseconds busy{}, stalled_in{}, stalled_out{};
};

/// What a block shuffle would join of the reads that go to a store, as they are asked for: a batch at a time.
struct BlockOffer {
  std::uint64_t shuffle_block = 0;  ///< LoaderOptions::shuffle_block; 0: it would join nothing, or is no choice here
  double requests = 0;              ///< for a sample, in full shuffle; 0: was not looked at
  double requests_then = 0;         ///< with shuffle_block
  /// Whether it has been seen to join too little only because a batch has too few rows.
  bool small_batch = false;
};

struct BadSample {
  std::string key, field, cause;
  std::uint64_t sample, epoch;
  /// In the epoch's order; nothing for a repeat that pads, which counts for no limit.
  std::optional<std::uint64_t> position = {};
};

/// One of the samples that took a worker longest.
struct SlowSample {
  std::string key, output;  ///< output: the one that took longest
  std::uint64_t sample, epoch;
  std::uint64_t bytes;  ///< stored
  std::chrono::nanoseconds read, decode, transform;
  std::chrono::nanoseconds took() const { return read + decode + transform; }
};

/// What a worker did for one row.
struct RowSpan {
  std::chrono::nanoseconds read{}, decode{}, transform{};
  std::uint64_t bytes = 0;  ///< stored
};

struct OutputStats {
  std::string name;
  std::chrono::nanoseconds decode{}, transform{};  ///< summed over the workers, without pieces that others helped with
};

struct Stats {
  std::uint32_t rank = 0, world = 1;  ///< of the loader
  std::uint64_t samples = 0, batches = 0;
  std::uint64_t bytes_read = 0;    ///< asked of storage, for whatever batches
  std::uint64_t stored_bytes = 0;  ///< of these, for the samples counted
  std::uint64_t bytes_delivered = 0;
  std::chrono::nanoseconds wall{};           ///< since the first next()
  std::chrono::nanoseconds first_batch{};    ///< from the first next() until the first batch was in hand
  std::chrono::nanoseconds consumer_wait{};  ///< inside next()
  std::chrono::nanoseconds consumer_busy{};  ///< between one next() and the following one
  /// consumer_wait split over the stages that made it wait, in the order of `stages`; adds up to it.
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> waited_for;
  std::vector<StageStats> stages;
  std::vector<OutputStats> outputs;  ///< of the workers
  /// Batches that next() took, and those that were finished before it was called.
  std::uint64_t batches_taken = 0, batches_ready = 0;
  /// In nanoseconds: "wait" of next(), "step" between two; of samples, by worker: "sample", and of that "read",
  /// "decode" and "transform"; "request": reads, from the request to its answer. And "reads together": how many were
  /// under way when one began.
  std::vector<std::pair<std::string, Distribution>> histograms;
  std::vector<SlowSample> slowest;   ///< ten at most, the slowest first
  std::vector<RowSpan> last_rows;    ///< some of the last ones, about a thousand at most
  std::vector<ReadSpan> last_reads;  ///< a few thousand at most
  std::vector<Levels> levels;        ///< over the last minutes, the oldest first
  std::chrono::nanoseconds workers_on_cores{}, workers_await_cores{};  ///< summed; zeros where the system is silent
  /// Of the time of the program's own step: on a core, and waiting for a lock of the program's (waited_for_lock()).
  std::chrono::nanoseconds own_step_on_cores{}, own_step_awaits_lock{};
  EngineKind engine = EngineKind::automatic;
  std::string engine_reason;
  EngineStats reads;
  /// Of the cache on the node's disk (LoaderOptions::cache_dir): what this loader did, how much of it this process
  /// evicted, and how full it is. Nothing without one.
  std::optional<NodeCacheStats> node_cache;
  std::string node_cache_dir;                 ///< where it is
  BlockOffer block_offer;                     ///< of a dataset in a store, under a full shuffle
  std::uint64_t epochs = 0;                   ///< that are over, since the loader was made
  unsigned workers = 0;                       ///< asked for; on average, where it changes (LoaderOptions::workers_max)
  unsigned workers_now = 0, workers_max = 0;  ///< that may be at work at this moment, and ever
  unsigned workers_observed = 0;              ///< threads that decoded something
  std::uint64_t slab_bytes = 0, slabs = 0, window_bytes = 0, block_cache_bytes = 0;  ///< reserved
  /// That more batches in the consumer's hands may still take, up to LoaderOptions::held_max: on the device where
  /// batches lie there, else on the host.
  std::uint64_t held_max_bytes = 0;
  std::string staging;  ///< whether slabs are page-locked for the device, or why not
  std::string device;   ///< "cuda:0: NVIDIA H200, ..."; empty: batches stay in memory of the host
  std::uint64_t device_bytes = 0, device_slabs = 0;  ///< reserved on the device
  std::uint64_t copied_bytes = 0;                    ///< to the device, by copies that are over
  std::chrono::nanoseconds copy_time{};              ///< that they took there, without kernels
  /// Of LoaderOptions::gpu_direct: "direct: OUTPUTS"; "bounce buffer, WHY: OUTPUTS", where their bytes still pass
  /// through the host's memory; "not used: WHY"; empty: not asked for. As the first file is read.
  std::string gpu_direct;
  std::uint64_t gpu_direct_bytes = 0;  ///< that the device read itself; counted in bytes_read
  /// Of LoaderOptions::gpu_jpeg: "50 % by nvJPEG 13.0, hardware engine: OUTPUTS"; "not used: WHY"; empty: not asked
  /// for.
  std::string gpu_jpeg;
  std::uint64_t gpu_jpeg_rows = 0;     ///< that the device decoded
  std::uint64_t gpu_jpeg_refused = 0;  ///< batches in which it found a bad JPEG, and which the cores then decoded
  std::uint64_t blocks_undone = 0;     ///< filtered blocks (HDF5 chunks); one that serves many samples counts once
  CacheKind cache_kind = CacheKind::none;
  CacheStats cache;  ///< of samples; block_cache_bytes above are those of blocks
  Checksums checksums = Checksums::off;
  CheckStats checks;
  std::uint64_t bad_samples = 0, excluded_samples = 0, later_failures = 0;
  std::vector<BadSample> bad;  ///< the first 1,000
  std::string notes;           ///< what a user should know (fallbacks, where rank and world came from)
};

/// Whether what is read, or some of it, lies in a store.
inline bool reads_store(const Stats& stats) {
  return stats.engine == EngineKind::store;
}

/// Adds what another loader with the same options did. What is no sum (names, memory, notes) stays, or is taken from
/// `more` where there is none yet.
void add(Stats& sum, const Stats& more);

/// The stage table, with the verdict (verdict.hpp).
std::ostream& operator<<(std::ostream& out, const Stats& stats);

}  // namespace penstock
