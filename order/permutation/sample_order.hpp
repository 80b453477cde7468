// The order in which one pass over a list of samples goes: as it is, shuffled, or shuffled by blocks or within windows.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <order/permutation/permutation.hpp>

namespace penstock {

/// Blocks whose samples a block shuffle mixes with each other: what must be at hand at once is this many blocks.
inline constexpr std::uint64_t kShuffleWindowBlocks = 16;

struct SampleOrderOptions {
  std::uint64_t samples = 0;
  bool shuffle = false;
  /// Samples per block: the blocks are permuted, then the samples inside each window of kShuffleWindowBlocks blocks
  /// that follow each other in the permuted order. 0: all samples are permuted at once.
  std::uint64_t shuffle_block = 0;
  /// Samples per window: those of each window are permuted, and windows follow each other as they stand. 0: one of all
  /// samples. Not with shuffle_block.
  std::uint64_t shuffle_window = 0;
  std::uint64_t seed = 0;
};

/// A pure function of the position, in constant memory.
class SampleOrder {
 public:
  SampleOrder(const SampleOrderOptions& options, std::uint64_t epoch);
  std::uint64_t sample_at(std::uint64_t position) const;  ///< position < samples
  std::uint64_t position_of(std::uint64_t sample) const;  ///< the inverse; sample < samples
  /// Those of positions `first` and on, below `samples`: the same, several times as fast where all are permuted at
  /// once.
  void list(std::uint64_t first, std::span<std::uint64_t> out) const;

 private:
  std::uint64_t block_shuffled(std::uint64_t position) const;
  std::uint64_t window_shuffled(std::uint64_t position) const;
  std::uint64_t place_in_blocks(std::uint64_t sample) const;
  std::uint64_t place_in_window(std::uint64_t sample) const;
  std::uint64_t slot_begin(std::uint64_t slot) const;
  std::uint64_t slot_of(std::uint64_t position) const;

  SampleOrderOptions options_;
  std::uint64_t epoch_;
  std::uint64_t blocks_;          // block shuffle: count, with the last one; else 0
  Permutation order_;             // of samples, or of blocks
  std::uint64_t short_by_ = 0;    // samples that the last block lacks
  std::uint64_t short_slot_ = 0;  // where the last block stands in the permuted order
};

/// The same, for who asks for positions that mostly follow each other: it lists some ahead. Used by one thread at a
/// time.
class SampleOrderAhead {
 public:
  static constexpr std::uint64_t kMostAhead = 64;

  SampleOrderAhead(const SampleOrderOptions& options, std::uint64_t epoch)
      : order_(options, epoch), samples_(options.samples) {}
  /// position < samples. So many from it on will be asked for, as far as the caller knows, and are listed at once.
  std::uint64_t sample_at(std::uint64_t position, std::uint64_t expected) {
    if (position - first_ < count_) return listed_[position - first_];
    if (expected <= 1) return order_.sample_at(position);
    list(position, expected);
    return listed_[0];
  }

 private:
  void list(std::uint64_t first, std::uint64_t expected);

  SampleOrder order_;
  std::uint64_t samples_;
  std::uint64_t first_ = 0, count_ = 0;  // of those that are listed
  std::array<std::uint64_t, kMostAhead> listed_;
};

}  // namespace penstock
