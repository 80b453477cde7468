// The demand of samples on cores, storage and the consumer, as a loader recorded it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <penstock/stats.hpp>

namespace penstock {

/// Returns true if an engine of this kind, which was chosen, reads bytes before a worker takes the row.
bool reads_ahead(EngineKind engine);

/// The machine that a loader runs on.
struct MachineModel {
  double cores = 1;  ///< number of cores that its threads may use
  /// Speed of a core while all of them compute, relative to one that computes alone. Below 1 if cores share caches,
  /// memory or, with hyperthreads, more than that.
  double full_speed = 1;

  /// Speed of each of `threads` that compute at a time, relative to a single one on an idle machine.
  double speed(double threads) const;
};

/// A worker's work for one row, in seconds.
struct RowDemand {
  double reads = 0;     ///< waiting for storage, if the worker reads
  double waits = 0;     ///< other time off the cores
  double computes = 0;  ///< on a core, if no other core computes
  double bytes = 0;     ///< stored bytes; 0: nothing is read
  /// Shares of `computes` and `waits` for fetching bytes, and for codecs and transforms. The rest is overhead.
  double bringing = 0, filling = 0;
};

/// Demand of rows if the samples were stored in another form, relative to the present form.
struct Keeping {
  double filling = 1;  ///< ratio of the times of codecs and transforms
  double bytes = 1;    ///< ratio of the stored bytes
};

/// The memory that a cache needs per sample, and the work that it saves.
struct CacheDemand {
  double bytes = 0;    ///< kept per sample
  double filling = 1;  ///< time of codecs and transforms with the cache, relative to that without
};

/// Storage as its response times show it. Each request waits for `latency`, in parallel with others. Then bytes
/// arrive at `bytes_per_s`, one request after the other.
struct StorageDemand {
  double latency = 0;       ///< seconds
  double bytes_per_s = 0;   ///< 0: no limit was seen
  double at_once = 0;       ///< parallel requests that a store accepts, if it made others wait; 0: no limit
  double rows = 1;          ///< rows per request, if neighbours in a batch are merged
  bool sizes_tell = false;  ///< a store's requests had many sizes, so that the time of merged ones can be predicted
};

struct Demands {
  std::vector<RowDemand> rows;  ///< of recorded samples; empty: not enough was recorded
  bool reads_ahead = false;     ///< an engine reads ahead of the workers
  bool from_store = false;      ///< that engine reads from a store
  bool store_timed = false;     ///< the store's requests were timed
  StorageDemand storage;
  BlockOffer blocks;           ///< the merge that a block shuffle would allow
  double plan = 0;             ///< seconds of the scheduler's thread per row
  std::vector<double> line;    ///< seconds per batch of each stage after the workers: the custom transform, the copy
  double step = 0;             ///< seconds of the consumer per batch
  bool step_computes = false;  ///< the step runs on one of the cores, not on a device
  double row_bytes = 0;        ///< memory of a batch per row
  double fullness = 1;         ///< average rows of a batch divided by batch_size: an epoch's last batch may be smaller
  double samples_per_s = 0;    ///< as measured
  std::uint64_t samples = 0;   ///< in the dataset; 0: unknown
  std::optional<CacheDemand> pixels;  ///< for a cache of decoded images, if that was tried (tryout.hpp)

  void scale(double slower);  ///< scales everything except the consumer's step
  /// Returns the demands of the same samples stored in another form.
  Demands kept(const Keeping& keeping) const;
  /// Returns the demands if a cache of `cache_bytes` keeps samples in memory.
  Demands cached(const CacheDemand& cache, std::uint64_t cache_bytes) const;
  /// Returns the demands with the offered block shuffle: fewer requests, each for more rows.
  Demands joined() const;
  double mean_bytes() const;  ///< average over the rows
};

/// Derives demands from `stats` of one loader, or from sums over several loaders with the same options, that ran for
/// about a second or longer on `machine`. `batch_size` is theirs. If the system does not report time on cores, all
/// time counts as such, up to the number of cores.
Demands demands_of(const Stats& stats, const MachineModel& machine, std::uint32_t batch_size);

}  // namespace penstock
