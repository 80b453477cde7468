// What samples ask of cores, storage and the consumer, as a loader recorded it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <penstock/stats.hpp>

namespace penstock {

/// Of a kind that was chosen: whether it brings bytes before a worker takes the row.
bool reads_ahead(EngineKind engine);

/// The machine that a loader runs on.
struct MachineModel {
  double cores = 1;  ///< that its threads may use
  /// How fast a core is while all of them compute, beside one that computes alone: below 1 where they share caches,
  /// memory or, as hyperthreads do, more than that.
  double full_speed = 1;

  /// How fast each of `threads` that compute at a time is, beside one alone on an idle machine.
  double speed(double threads) const;
};

/// What one row takes of a worker, in seconds.
struct RowDemand {
  double reads = 0;     ///< waiting for storage, where the worker reads itself
  double waits = 0;     ///< otherwise not on a core
  double computes = 0;  ///< on a core that computes alone
  double bytes = 0;     ///< stored; 0: nothing is read
  /// Shares of `computes` and `waits`: to bring the bytes; codecs and transforms. The rest is around them.
  double bringing = 0, filling = 0;
};

/// What rows would take if the samples were kept in another way, beside what they take as they are.
struct Keeping {
  double filling = 1;  ///< time of codecs and transforms
  double bytes = 1;    ///< that are stored
};

/// What a cache would keep of a sample, and spare.
struct CacheDemand {
  double bytes = 0;    ///< kept of a sample
  double filling = 1;  ///< time of codecs and transforms with it, beside that without
};

/// Storage as its answers show it: after `latency`, which any number may wait out together, bytes come at
/// `bytes_per_s`, one request after the other.
struct StorageDemand {
  double latency = 0;       ///< seconds
  double bytes_per_s = 0;   ///< 0: no limit was seen
  double at_once = 0;       ///< requests that it takes at a time, of a store that was seen to let others wait; 0: any
  double rows = 1;          ///< that one request brings, where neighbours of a batch are joined
  bool sizes_tell = false;  ///< requests of a store were of many sizes, so that those of joined rows can be told
};

struct Demands {
  std::vector<RowDemand> rows;  ///< of recorded samples; empty: too little was recorded to tell anything
  bool reads_ahead = false;     ///< an engine reads ahead of the workers
  bool from_store = false;      ///< and has its bytes from a store
  bool store_timed = false;     ///< of which requests were timed
  StorageDemand storage;
  BlockOffer blocks;           ///< what a block shuffle would join
  double plan = 0;             ///< seconds of the scheduler's thread for a row
  std::vector<double> line;    ///< seconds a batch of each stage behind the workers: the custom transform, the copy
  double step = 0;             ///< seconds of the consumer for a batch
  bool step_computes = false;  ///< on one of the cores, rather than on a device
  double row_bytes = 0;        ///< of a batch's memory, for each row
  double fullness = 1;       ///< rows of a batch, on average, as a share of batch_size: an epoch ends with what is left
  double samples_per_s = 0;  ///< that were measured
  std::uint64_t samples = 0;          ///< of the dataset; 0: not known
  std::optional<CacheDemand> pixels;  ///< of a cache of decoded images, where that was tried (tryout.hpp)

  void scale(double slower);  ///< all but the consumer's step
  /// The same samples, kept in another way.
  Demands kept(const Keeping& keeping) const;
  /// The same with what a cache of so many bytes holds of them in memory.
  Demands cached(const CacheDemand& cache, std::uint64_t cache_bytes) const;
  /// The same with the block shuffle that is offered: fewer requests, each for more rows.
  Demands joined() const;
  double mean_bytes() const;  ///< of the rows
};

/// `stats` of one loader, or sums of several with the same options, that ran for a second or so on `machine`.
/// `batch_size`: theirs. What the system does not tell of time on cores is taken to be all of it, as far as there are
/// cores.
Demands demands_of(const Stats& stats, const MachineModel& machine, std::uint32_t batch_size);

}  // namespace penstock
