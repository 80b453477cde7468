// The plan: it tells which sample is in which row of which batch, as a pure function of (seed, epoch, rank, world).
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/loader/options.hpp>
#include <penstock/loader/plan/permutation.hpp>

namespace penstock {

/// Blocks whose samples a block shuffle mixes with each other: what must be at hand at once is this many blocks.
inline constexpr std::uint64_t kShuffleWindowBlocks = 16;

/// What a plan is a function of. `samples` counts what the epoch delivers.
struct PlanOptions {
  std::uint64_t samples = 0;
  bool shuffle = false;
  /// Samples per block: the blocks are permuted, then the samples inside each window of kShuffleWindowBlocks blocks
  /// that follow each other in the permuted order. 0: all samples are permuted at once.
  std::uint64_t shuffle_block = 0;
  std::uint64_t seed = 0;
  std::uint32_t batch_size = 1, rank = 0, world = 1;
  Last last = Last::keep;
};

struct Row {
  std::uint64_t sample;    ///< number in the dataset (or in the list of included samples)
  std::uint64_t position;  ///< in the epoch's permutation; of a repeat, where its sample stands there
  bool valid;              ///< false for a repeat that pads
  friend bool operator==(const Row&, const Row&) = default;
};

/// One rank's batches of one epoch, from position `start` on. Row i of batch b holds position
/// start + (b * world + rank) * batch_size + i of the epoch's permutation.
///
/// What does not fill a batch on every rank, at the end of the epoch, is left out (drop), or given in a last batch
/// that is full (pad) or has as many rows as its fullest rank needs (keep: with one rank, that is a short batch).
/// Rows past the end repeat the epoch's order from its beginning and are not valid.
class Plan {
 public:
  /// Throws Error: invalid_argument, for batch_size or world 0, rank >= world, start > samples.
  Plan(const PlanOptions& options, std::uint64_t epoch, std::uint64_t start = 0);
  std::uint64_t batches() const;  ///< of this rank from `start` to the end of the epoch; equal on all ranks
  /// Replaces `rows`; equally many on all ranks. Throws Error: invalid_argument, unless b < batches().
  void batch(std::uint64_t b, std::vector<Row>& rows) const;
  std::uint64_t sample_at(std::uint64_t position) const;  ///< position < samples
  /// First position not delivered once every rank has had `delivered` batches; `samples` after the last batch, also
  /// when some were dropped.
  std::uint64_t position_after(std::uint64_t delivered) const;

 private:
  void add_rows(std::uint64_t first, std::uint64_t end, std::vector<Row>& rows) const;
  std::uint64_t block_shuffled(std::uint64_t position) const;
  std::uint64_t slot_begin(std::uint64_t slot) const;
  std::uint64_t slot_of(std::uint64_t position) const;

  PlanOptions options_;
  std::uint64_t epoch_, start_;
  std::uint64_t per_step_;        // samples that all ranks together take per batch
  Permutation order_;             // of samples, or of blocks
  std::uint64_t blocks_ = 0;      // block shuffle: count, with the last one
  std::uint64_t short_by_ = 0;    // samples that the last block lacks
  std::uint64_t short_slot_ = 0;  // where the last block stands in the permuted order
};

}  // namespace penstock
