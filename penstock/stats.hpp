// The statistics of a loader: what it counted, and where its time went. They are always on.
//
//   penstock::Loader loader(penstock::open("photos"));
//   while (loader.next()) {
//   }
//   std::cout << loader.stats() << penstock::verdict_of(loader.stats()).text << '\n';
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/storage.hpp>

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
  std::chrono::nanoseconds wall{}, first_batch{}, data_wait{}, step_time{};
  std::uint64_t batches_taken = 0, batches_ready = 0;
  std::chrono::nanoseconds workers_on_cores{}, workers_await_cores{}, custom_transform_on_cores{},
      custom_transform_awaits_lock{};
  std::uint64_t workers = 0, workers_now = 0, workers_max = 0, workers_observed = 0;
  std::uint64_t slabs = 0, slab_bytes = 0, held_max_bytes = 0, window_bytes = 0, block_cache_bytes = 0;
  std::uint64_t device_slabs = 0, device_bytes = 0, copied_bytes = 0;
  std::chrono::nanoseconds copy_time{};
  std::uint64_t gpu_direct_bytes = 0, gpu_jpeg_rows = 0, gpu_jpeg_refused = 0;
  std::uint64_t blocks_undone = 0;
  CheckStats checks;
  std::uint64_t bad_samples = 0, excluded_samples = 0, later_failures = 0;
  EngineStats reads;
  DiskCacheStats disk_cache;  ///< zeros without a disk cache
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

/// Buckets of a value's size: those below kSteps one by one, then kSteps to each doubling (the layout of HdrHistogram),
/// so that a value is told apart from others by a sixteenth of it.
struct Buckets {
  static constexpr unsigned kStepBits = 4, kSteps = 1U << kStepBits;
  static constexpr unsigned kBits = 42;  ///< values from 2^42 on (of nanoseconds: 73 minutes) share the last bucket
  static constexpr std::size_t kCount = (kBits - kStepBits + 1) * std::size_t{kSteps};

  static constexpr std::size_t of(std::uint64_t value) {
    if (value < kSteps) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kStepBits - 1;
    const std::size_t bucket = ((std::size_t{shift} + 1) << kStepBits) + ((value >> shift) - kSteps);
    return bucket < kCount ? bucket : kCount - 1;
  }
  static constexpr std::uint64_t first(std::size_t bucket) {  ///< smallest value in it
    if (bucket < kSteps) return bucket;
    const std::size_t shift = (bucket >> kStepBits) - 1;
    return (std::uint64_t{kSteps} + (bucket & (kSteps - 1))) << shift;
  }
};

/// What a Histogram held at one moment; sums of several may be taken.
struct Distribution {
  std::uint64_t count = 0, sum = 0, max = 0;
  std::array<std::uint64_t, Buckets::kCount> counts{};

  Distribution& operator+=(const Distribution& other);
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }
  /// The value that a share of all, 0 to 1, do not exceed: exact below 16, else within a sixteenth. 0 for none.
  std::uint64_t quantile(double share) const;
  /// The sum of the values of each std::bit_width(), within a sixteenth.
  std::array<std::uint64_t, 65> sums_by_width() const;

 private:
  std::uint64_t middle(std::size_t bucket) const;
};

/// Looked at when next() is called.
struct Levels {
  std::chrono::steady_clock::time_point at{};
  std::size_t ready = 0;       ///< batches that are finished, behind the last stage
  std::size_t free_slabs = 0;  ///< of the host
  std::size_t tasks = 0;       ///< groups of rows that wait for a worker
  std::uint64_t reading = 0;   ///< bytes on their way
};

/// Of one request to an engine or, where a worker reads itself, of those of one row.
struct ReadSpan {
  std::chrono::steady_clock::time_point begin{};
  std::chrono::nanoseconds took{};
  std::uint64_t bytes = 0;
  std::uint64_t under_way = 0;  ///< bytes, with its own, when it began
};

/// Times of a stage, summed over its threads.
struct StageStats {
  std::string
      name;  ///< one of StageClocks::kNames, or of a Stage of the loader's line: deliver, custom_transform, copy
  unsigned threads = 0;
  /// Working; waiting for input; waiting for room. Of `copy`, the device works, while its thread waits.
  std::chrono::nanoseconds busy{}, input_wait{}, room_wait{};
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
  /// data_wait split over the stages that made it wait, in the order of `stages`; adds up to it.
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> data_wait_by_stage;
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
  std::string disk_cache_dir;  ///< the folder of the disk cache (LoaderOptions::disk_cache.path); empty: there is none
  BlockOffer block_offer;      ///< of a dataset in a store, under a full shuffle
  std::string staging;         ///< whether slabs are page-locked for the device, or why not
  std::string device;          ///< "cuda:0: NVIDIA H200, ..."; empty: batches stay in memory of the host
  /// Of LoaderOptions::device_options.gpu_direct: "direct: OUTPUTS"; "bounce buffer, WHY: OUTPUTS", where their bytes
  /// still pass through the host's memory; "not used: WHY"; empty: not asked for. As the first file is read.
  std::string gpu_direct;
  /// Of LoaderOptions::device_options.gpu_jpeg: "50 % by nvJPEG 13.0, hardware engine: OUTPUTS"; "not used: WHY";
  /// empty: not asked for.
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

inline bool has_disk_cache(const Stats& stats) {
  return !stats.disk_cache_dir.empty();
}

/// Adds what another loader with the same options did. Names and notes stay; an empty sum becomes `more`.
void add(Stats& sum, const Stats& more);

/// The stage table, with the verdict (verdict.hpp).
std::ostream& operator<<(std::ostream& out, const Stats& stats);

/// The time of one training step. A step ends at Loader::mark_step(), or at the next call of next() if the program does
/// not call mark_step(). The parts add up to the time since the end of the step before.
struct StepTime {
  /// Time in next(), by the stage that it waited for, as in Stats::data_wait_by_stage. `custom_transform` contains
  /// every stage that has a name of the program's.
  std::chrono::nanoseconds plan{}, read{}, decode{}, transform{}, deliver{}, custom_transform{}, copy{};
  std::chrono::nanoseconds compute{};  ///< the program's work with a batch, until the step ends
  std::chrono::nanoseconds other{};    ///< the program's time between steps and between epochs
  std::uint64_t batches = 0;

  std::chrono::nanoseconds data_wait() const {
    return plan + read + decode + transform + deliver + custom_transform + copy;
  }
  std::chrono::nanoseconds all() const { return data_wait() + compute + other; }
  StepTime& operator+=(const StepTime& step);
};

struct Steps {
  std::uint64_t first = 0;     ///< the number of the first one in `last`; they count from 0
  std::vector<StepTime> last;  ///< a few thousand at most
  StepTime sum;                ///< of all, since the loader was made, or reset_stats()
};

/// What would have to get better for batches to come faster.
enum class Binds : std::uint8_t {
  unknown,            ///< it cannot be told from these figures: the text says why
  start_up,           ///< too few samples for what comes before the first batch
  nothing,            ///< the consumer is fed, and the loader has less than twice the work it could do
  consumer,           ///< the consumer is fed, and the loader could give twice as much and more
  plan,               ///< naming rows and asking for their bytes, in one thread
  storage_bandwidth,  ///< reads take longer, the more bytes are on their way
  storage_latency,    ///< reads take their time, however many bytes are on their way
  files,              ///< opening files, of which there are too many
  cores,              ///< the workers' time: of which stage and output, stands beside it
  prefetch,           ///< too few batches ahead for samples that take very unequal time
  memory,             ///< the read window
  custom_transform,   ///< the program's function of whole batches, in one thread
  copy,               ///< copies to the device
};
std::string_view name(Binds binds);  ///< "storage bandwidth"

/// From service times, queue levels and the attribution of waits, of a second of running or more.
struct Verdict {
  Binds binds = Binds::unknown;
  std::string stage;     ///< that the consumer waits for, as in Stats::stages; empty where it does not, or for several
  std::string output;    ///< that takes the workers most time, for cores and prefetch; else empty
  double data_wait = 0;  ///< share of the training loop's time, 0 to 1, in which it waited for batches
  std::string text;      ///< one sentence for a person, with the numbers that it follows from
};

/// The times of a training loop over any loader.
struct LoopTimes {
  std::uint64_t batches = 0;
  std::chrono::nanoseconds first_batch{};  ///< from the beginning of the first epoch
  std::chrono::nanoseconds longest{};      ///< wait for one batch
  std::chrono::nanoseconds wall{};
};
/// Why the loop did not run long enough for a verdict. Nothing where it did.
std::optional<std::string> too_short(const LoopTimes& loop);

/// `stats`: of one loader, or sums of several with the same options.
Verdict verdict_of(const Stats& stats);

}  // namespace penstock
