// The statistics of a loader: its counters, and the distribution of its time. They are always on.
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

/// The sample cache. If processes of the node share it, hits and misses are this loader's, and the other numbers are
/// sums over all members.
struct CacheStats {
  std::uint64_t reserved = 0, used = 0, values = 0, hits = 0, misses = 0, hits_of_others = 0, members = 0;
  friend bool operator==(const CacheStats&, const CacheStats&) = default;
};

/// Counts of shared batches; zeros without LoaderOptions::sharing.
struct SharingStats {
  std::uint64_t consumers = 0, received = 0, built_alone = 0, built_for_all = 0, left_behind = 0;
  friend bool operator==(const SharingStats&, const SharingStats&) = default;
};

/// Counts of batches from servers; zeros without LoaderOptions::servers.
struct ServedStats {
  std::uint64_t ready = 0, batches = 0, bytes = 0, filled_without_server = 0;
  friend bool operator==(const ServedStats&, const ServedStats&) = default;
};

/// A server that fills batches, from the loader's side.
struct ServerStats {
  std::string address;
  bool ready = false;                    ///< connected, and the token is proven
  std::string problem = {};              ///< the last one, if it is not ready
  std::uint64_t batches = 0, bytes = 0;  ///< that it has filled
};

/// The numbers of a loader. counters() documents each of them. All members have 64 bits, because they are also the
/// words of a live page (record/watch/live_page.hpp).
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
  SharingStats sharing;
  ServedStats served;
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// An entry of the table of counters. All code that prints, adds, resets or publishes counters uses this table.
struct Counter {
  enum class Unit : std::uint8_t { number, bytes, time };
  enum class Rule : std::uint8_t {
    counts,  ///< add() sums it, and reset_stats() sets it to zero
    peaks,   ///< add() keeps the larger value, and reset_stats() does not change it
    stands,  ///< add() keeps the first value, and reset_stats() does not change it
  };
  std::string_view group;  ///< the nested dict of Loader.stats() and of JSON that contains it; empty: the outer dict
  std::string_view name;   ///< its key there; the value is in bytes, or in seconds if the name ends with "_s"
  Unit unit{};
  Rule rule{};
  std::uint64_t (*get)(const Counts& counts);  ///< times in nanoseconds
  void (*set)(Counts& counts, std::uint64_t value);
  std::string_view meaning;  ///< one sentence
  /// Name of its OpenMetrics family, without "penstock_" and "_total". Empty: derived from group and name. kNoFamily:
  /// it has none.
  std::string_view metric;
  static constexpr std::string_view kNoFamily = "-";
};

/// The table of counters, in the order of Loader.stats().
std::span<const Counter> counters();

/// Calls each(counter) for the counters of one group.
template <std::invocable<const Counter&> Each>
void each_counter(std::string_view group, Each each) {
  for (const Counter& counter : counters())
    if (counter.group == group) each(counter);
}

/// Adds the counts of another loader with the same options, each counter by its rule.
void add(Counts& sum, const Counts& more);
/// Subtracts the counts up to `before`.
void subtract(Counts& counts, const Counts& before);

/// Histogram buckets: values below kSteps have one each, and every further doubling has kSteps buckets (the layout of
/// HdrHistogram). A bucket is therefore at most a sixteenth of its values wide.
struct Buckets {
  static constexpr unsigned kStepBits = 4, kSteps = 1U << kStepBits;
  static constexpr unsigned kBits = 42;  ///< values of 2^42 or more (in nanoseconds: 73 minutes) share the last bucket
  static constexpr std::size_t kCount = (kBits - kStepBits + 1) * std::size_t{kSteps};

  static constexpr std::size_t of(std::uint64_t value) {
    if (value < kSteps) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kStepBits - 1;
    const std::size_t bucket = ((std::size_t{shift} + 1) << kStepBits) + ((value >> shift) - kSteps);
    return bucket < kCount ? bucket : kCount - 1;
  }
  static constexpr std::uint64_t first(std::size_t bucket) {  ///< smallest value in the bucket
    if (bucket < kSteps) return bucket;
    const std::size_t shift = (bucket >> kStepBits) - 1;
    return (std::uint64_t{kSteps} + (bucket & (kSteps - 1))) << shift;
  }
};

/// The content of a Histogram at one moment. Distributions may be added.
struct Distribution {
  std::uint64_t count = 0, sum = 0, max = 0;
  std::array<std::uint64_t, Buckets::kCount> counts{};

  Distribution& operator+=(const Distribution& other);
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }
  /// The value that the given share of all values (0 to 1) does not exceed: exact below 16, otherwise within a
  /// sixteenth. 0 if there are no values.
  std::uint64_t quantile(double share) const;
  /// The sum of the values of each std::bit_width(), within a sixteenth.
  std::array<std::uint64_t, 65> sums_by_width() const;

 private:
  std::uint64_t middle(std::size_t bucket) const;
};

/// Queue levels, sampled when next() is called.
struct Levels {
  std::chrono::steady_clock::time_point at{};
  std::size_t ready = 0;       ///< finished batches, after the last stage
  std::size_t free_slabs = 0;  ///< on the host
  std::size_t tasks = 0;       ///< groups of rows that wait for a worker
  std::uint64_t reading = 0;   ///< bytes in flight
};

/// A read: one request to an engine or, if a worker reads itself, all reads of one row.
struct ReadSpan {
  std::chrono::steady_clock::time_point begin{};
  std::chrono::nanoseconds took{};
  std::uint64_t bytes = 0;
  std::uint64_t under_way = 0;  ///< bytes in flight when it began, including its own
};

/// Times of a stage, summed over its threads.
struct StageStats {
  std::string name;  ///< one of StageClocks::kNames, or a Stage of the loader's line: deliver, custom_transform, copy
  unsigned threads = 0;
  /// Time spent working, waiting for input, and waiting for room in the next stage. For `copy`, the device works while
  /// the stage's thread waits.
  std::chrono::nanoseconds busy{}, input_wait{}, room_wait{};
};

/// The predicted effect of a block shuffle on a dataset in a store: how many requests of a batch would be merged.
struct BlockOffer {
  /// value for LoaderOptions::shuffle_block; 0: it would merge nothing, or is not applicable
  std::uint64_t shuffle_block = 0;
  double requests = 0;       ///< per sample, in full shuffle; 0: not examined
  double requests_then = 0;  ///< the same with shuffle_block
  /// Whether it merges too little only because a batch has too few rows.
  bool small_batch = false;
};

/// An invalid sample, and the reason.
struct BadSample {
  std::string key, field, cause;
  std::uint64_t sample, epoch;
  /// Position in the epoch's order. Unset for a repeat that pads, which no error limit counts.
  std::optional<std::uint64_t> position = {};
};

/// One of the samples that kept a worker busy longest.
struct SlowSample {
  std::string key, output;  ///< `output`: the one that took longest
  std::uint64_t sample, epoch;
  std::uint64_t bytes;  ///< stored
  std::chrono::nanoseconds read, decode, transform;
  std::chrono::nanoseconds took() const { return read + decode + transform; }
};

/// The work of a worker for one row.
struct RowSpan {
  std::chrono::nanoseconds read{}, decode{}, transform{};
  std::uint64_t bytes = 0;  ///< stored
};

/// Time spent on one output.
struct OutputStats {
  std::string name;
  /// summed over the workers, without pieces that other threads helped with
  std::chrono::nanoseconds decode{}, transform{};
};

/// The counters of a loader, and its other statistics.
struct Stats : Counts {
  /// data_wait split by the stage that caused the wait, in the order of `stages`; the parts add up to it.
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> data_wait_by_stage;
  std::vector<StageStats> stages;
  std::vector<OutputStats> outputs;  ///< time of the workers, by output
  /// In nanoseconds: "wait" in next(), "step" between two calls; per sample, in a worker: "sample", and its parts
  /// "read", "decode" and "transform"; "request": reads, from the request to its answer. Also "reads together": the
  /// number of reads in flight when one began.
  std::vector<std::pair<std::string, Distribution>> histograms;
  std::vector<SlowSample> slowest;   ///< ten at most, the slowest first
  std::vector<RowSpan> last_rows;    ///< about a thousand of the most recent rows at most
  std::vector<ReadSpan> last_reads;  ///< a few thousand at most
  std::vector<Levels> levels;        ///< over the last minutes, the oldest first
  EngineKind engine = EngineKind::automatic;
  std::string engine_reason;
  std::string disk_cache_dir;  ///< folder of the disk cache (LoaderOptions::disk_cache.path); empty: there is none
  std::vector<ServerStats> servers;  ///< LoaderOptions::servers, in that order; since the loader was made
  std::string sharing_name;          ///< SharingOptions::name; empty: batches are not shared
  BlockOffer block_offer;            ///< for a dataset in a store, under a full shuffle
  std::string staging;               ///< whether slabs are page-locked for the device, or why not
  std::string device;                ///< "cuda:0: NVIDIA H200, ..."; empty: batches stay in the host's memory
  /// Effect of LoaderOptions::device_options.gpu_direct, known once the first file is read: "direct: OUTPUTS"; "bounce
  /// buffer, WHY: OUTPUTS", if their bytes still pass through the host's memory; "not used: WHY"; empty: not requested.
  std::string gpu_direct;
  /// Effect of LoaderOptions::device_options.gpu_jpeg: "50 % by nvJPEG 13.0, hardware engine: OUTPUTS"; "not used:
  /// WHY"; empty: not requested.
  std::string gpu_jpeg;
  CacheKind cache_kind = CacheKind::none;
  Checksums checksums = Checksums::off;
  std::vector<BadSample> bad;  ///< the first 1,000
  std::string notes;           ///< remarks for the user (fallbacks, origin of rank and world)
};

/// Whether the loader reads from a store, at least in part.
inline bool reads_store(const Stats& stats) {
  return stats.engine == EngineKind::store;
}

/// Whether the loader uses a disk cache.
inline bool has_disk_cache(const Stats& stats) {
  return !stats.disk_cache_dir.empty();
}

/// Adds the statistics of another loader with the same options. Names and notes stay; an empty sum becomes `more`.
void add(Stats& sum, const Stats& more);

/// Prints the stage table and the diagnosis of verdict_of().
std::ostream& operator<<(std::ostream& out, const Stats& stats);

/// The time of one training step. A step ends at Loader::mark_step(), or at the next call of next() if the program does
/// not call mark_step(). The parts add up to the time since the end of the previous step.
struct StepTime {
  /// Time in next(), by the stage that caused the wait, as in Stats::data_wait_by_stage. `custom_transform` contains
  /// every stage that the program named.
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

/// The times of training steps, as Loader::steps() returns them.
struct Steps {
  std::uint64_t first = 0;     ///< number of the first step in `last`; steps count from 0
  std::vector<StepTime> last;  ///< a few thousand at most
  StepTime sum;                ///< of all steps since the loader was made, or since reset_stats()
};

/// The bottleneck: the resource that limits the rate of batches.
enum class Binds : std::uint8_t {
  unknown,            ///< these statistics do not suffice; the text says why
  start_up,           ///< too few samples compared with the work before the first batch
  nothing,            ///< the loader keeps up, and could deliver less than twice as much
  consumer,           ///< the loader keeps up, and could deliver twice as much or more
  plan,               ///< the scheduler, one thread that lists rows and requests their bytes
  storage_bandwidth,  ///< reads take longer, the more bytes are in flight
  storage_latency,    ///< reads take the same time, however many bytes are in flight
  files,              ///< opening too many files
  cores,              ///< time of the workers; Verdict::stage and Verdict::output name the place
  prefetch,           ///< too few batches ahead for samples of very different cost
  memory,             ///< the read window
  custom_transform,   ///< the program's function of whole batches, in one thread
  copy,               ///< copies to the device
  servers,            ///< the servers that fill the batches, or their network
  sharing,            ///< the process that builds the batches for several loaders, or the slowest of these
};
std::string_view name(Binds binds);  ///< "storage bandwidth"

/// Diagnosis of the bottleneck, from service times, queue levels and the causes of waits. Requires at least a second of
/// running.
struct Verdict {
  Binds binds = Binds::unknown;
  /// stage that the consumer waits for, as in Stats::stages; empty if it does not wait, or if there are several
  std::string stage;
  std::string output;    ///< output that takes the workers most time, for cores and prefetch; otherwise empty
  double data_wait = 0;  ///< share of the training loop's time, 0 to 1, spent waiting for batches
  std::string text;      ///< one sentence for a person, with the underlying numbers
};

/// The times of a training loop over any loader.
struct LoopTimes {
  std::uint64_t batches = 0;
  std::chrono::nanoseconds first_batch{};  ///< since the beginning of the first epoch
  std::chrono::nanoseconds longest{};      ///< longest wait for one batch
  std::chrono::nanoseconds wall{};
};
/// Why the loop was too short for a diagnosis; nothing if it was long enough.
std::optional<std::string> too_short(const LoopTimes& loop);

/// Diagnoses the bottleneck. `stats`: of one loader, or sums over several with the same options.
Verdict verdict_of(const Stats& stats);

}  // namespace penstock
