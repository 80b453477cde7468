// The statistics of a loader: where its time went. They are always on.
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

/// The counters of a loader, and what else it says of itself.
struct Stats : Counts {
  /// consumer_wait split over the stages that made it wait, in the order of `stages`; adds up to it.
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> waited_for;
  std::vector<StageStats> stages;
  std::vector<OutputStats> outputs;  ///< of the workers
  /// In nanoseconds: "wait" of next(), "step" between two; of samples, by worker: "sample", and of that "read",
  /// "decode" and "transform"; "request": reads, from the request to its answer. And "reads together": how many were
  /// under way when one began.
  std::vector<std::pair<std::string, Distribution>> histograms;
  std::vector<SlowSample> slowest;   ///< ten at most, the slowest first
  std::vector<RowSpan> last_rows;    ///< some of the last ones, about a thousand at most
  std::vector<ReadSpan> last_reads;  ///< a few thousand at most
  std::vector<Levels> levels;        ///< over the last minutes, the oldest first
  EngineKind engine = EngineKind::automatic;
  std::string engine_reason;
  std::string node_cache_dir;  ///< the folder of the disk cache (LoaderOptions::cache_dir); empty: there is none
  BlockOffer block_offer;      ///< of a dataset in a store, under a full shuffle
  std::string staging;         ///< whether slabs are page-locked for the device, or why not
  std::string device;          ///< "cuda:0: NVIDIA H200, ..."; empty: batches stay in memory of the host
  /// Of LoaderOptions::gpu_direct: "direct: OUTPUTS"; "bounce buffer, WHY: OUTPUTS", where their bytes still pass
  /// through the host's memory; "not used: WHY"; empty: not asked for. As the first file is read.
  std::string gpu_direct;
  /// Of LoaderOptions::gpu_jpeg: "50 % by nvJPEG 13.0, hardware engine: OUTPUTS"; "not used: WHY"; empty: not asked
  /// for.
  std::string gpu_jpeg;
  CacheKind cache_kind = CacheKind::none;
  Checksums checksums = Checksums::off;
  std::vector<BadSample> bad;  ///< the first 1,000
  std::string notes;           ///< what a user should know (fallbacks, where rank and world came from)
};

/// Whether what is read, or some of it, lies in a store.
inline bool reads_store(const Stats& stats) {
  return stats.engine == EngineKind::store;
}

inline bool has_node_cache(const Stats& stats) {
  return !stats.node_cache_dir.empty();
}

/// Adds what another loader with the same options did. Names and notes stay; an empty sum becomes `more`.
void add(Stats& sum, const Stats& more);

/// The stage table, with the verdict (verdict.hpp).
std::ostream& operator<<(std::ostream& out, const Stats& stats);

}  // namespace penstock
