// The order of one pass over a list of samples: unchanged, shuffled, shuffled by blocks or within windows.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <order/permutation/permutation.hpp>

namespace penstock {

/// Number of blocks whose samples a block shuffle mixes with each other. This many blocks must be available at once.
inline constexpr std::uint64_t kShuffleWindowBlocks = 16;

struct SampleOrderOptions {
  std::uint64_t samples = 0;
  bool shuffle = false;
  /// Samples per block. The blocks are permuted, then the samples of each window of kShuffleWindowBlocks consecutive
  /// blocks in the permuted order. 0: all samples are permuted at once.
  std::uint64_t shuffle_block = 0;
  /// Samples per window. The samples of each window are permuted; the windows keep their order. 0: one window of all
  /// samples. Not with shuffle_block.
  std::uint64_t shuffle_window = 0;
  std::uint64_t seed = 0;
};

/// The order of one epoch: a pure function of the position, in constant memory.
class SampleOrder {
 public:
  SampleOrder(const SampleOrderOptions& options, std::uint64_t epoch);
  std::uint64_t sample_at(std::uint64_t position) const;  ///< position < samples
  std::uint64_t position_of(std::uint64_t sample) const;  ///< the inverse; sample < samples
  /// The samples of positions `first` and later, below `samples`: the same samples. If all samples are permuted at
  /// once, this is several times as fast.
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
  std::uint64_t blocks_;          // number of blocks in a block shuffle, including the last one; else 0
  Permutation order_;             // of samples, or of blocks
  std::uint64_t short_by_ = 0;    // samples by which the last block is shorter
  std::uint64_t short_slot_ = 0;  // slot of the last block in the permuted order
};

/// The same order for callers that mostly ask for consecutive positions: it computes some in advance. Used by one
/// thread at a time.
class SampleOrderAhead {
 public:
  static constexpr std::uint64_t kMostAhead = 64;

  SampleOrderAhead(const SampleOrderOptions& options, std::uint64_t epoch)
      : order_(options, epoch), samples_(options.samples) {}
  /// position < samples. `expected`: the number of consecutive positions, from this one on, that the caller will ask
  /// for. They are computed at once.
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
  std::uint64_t first_ = 0, count_ = 0;  // of the computed positions
  std::array<std::uint64_t, kMostAhead> listed_;
};

}  // namespace penstock
