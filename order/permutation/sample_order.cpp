#include <algorithm>

#include <order/permutation/sample_order.hpp>

namespace penstock {
namespace {

std::uint64_t block_count(const SampleOrderOptions& options) {
  if (!options.shuffle || options.shuffle_block == 0) return 0;
  return options.samples / options.shuffle_block + (options.samples % options.shuffle_block != 0);
}

}  // namespace

SampleOrder::SampleOrder(const SampleOrderOptions& options, std::uint64_t epoch)
    : options_(options),
      epoch_(epoch),
      blocks_(block_count(options)),
      order_(blocks_ != 0 ? blocks_ : options.samples, options.seed, epoch) {
  if (blocks_ == 0) return;
  short_by_ = blocks_ * options_.shuffle_block - options_.samples;
  short_slot_ = order_.position_of(blocks_ - 1);
}

std::uint64_t SampleOrder::sample_at(std::uint64_t position) const {
  if (!options_.shuffle) return position;
  if (options_.shuffle_window != 0) return window_shuffled(position);
  return blocks_ != 0 ? block_shuffled(position) : order_(position);
}

std::uint64_t SampleOrder::position_of(std::uint64_t sample) const {
  if (!options_.shuffle) return sample;
  if (options_.shuffle_window != 0) return place_in_window(sample);
  return blocks_ != 0 ? place_in_blocks(sample) : order_.position_of(sample);
}

void SampleOrder::list(std::uint64_t first, std::span<std::uint64_t> out) const {
  if (options_.shuffle && blocks_ == 0 && options_.shuffle_window == 0) return order_.list(first, out);
  for (std::uint64_t& sample : out) sample = sample_at(first++);
}

// The blocks occupy slots, one after the other. Only the slot of the dataset's last block may be shorter.
std::uint64_t SampleOrder::slot_begin(std::uint64_t slot) const {
  return slot * options_.shuffle_block - (slot > short_slot_ ? short_by_ : 0);
}

std::uint64_t SampleOrder::slot_of(std::uint64_t position) const {
  const bool behind_short = position >= slot_begin(short_slot_ + 1);
  return (position + (behind_short ? short_by_ : 0)) / options_.shuffle_block;
}

// The windows partition the slots, and a window's positions are permuted among themselves. The result is therefore a
// permutation of all samples, and place_in_blocks() inverts it step by step.
std::uint64_t SampleOrder::block_shuffled(std::uint64_t position) const {
  const std::uint64_t window = slot_of(position) / kShuffleWindowBlocks;
  const std::uint64_t begin = slot_begin(window * kShuffleWindowBlocks);
  const std::uint64_t end = slot_begin(std::min(blocks_, (window + 1) * kShuffleWindowBlocks));
  const Permutation inside(end - begin, options_.seed, epoch_, window + 1);
  const std::uint64_t mixed = begin + inside(position - begin);
  const std::uint64_t slot = slot_of(mixed);
  return order_(slot) * options_.shuffle_block + (mixed - slot_begin(slot));
}

std::uint64_t SampleOrder::place_in_blocks(std::uint64_t sample) const {
  const std::uint64_t slot = order_.position_of(sample / options_.shuffle_block);
  const std::uint64_t window = slot / kShuffleWindowBlocks;
  const std::uint64_t begin = slot_begin(window * kShuffleWindowBlocks);
  const std::uint64_t end = slot_begin(std::min(blocks_, (window + 1) * kShuffleWindowBlocks));
  const std::uint64_t mixed = slot_begin(slot) + sample % options_.shuffle_block;
  return begin + Permutation(end - begin, options_.seed, epoch_, window + 1).position_of(mixed - begin);
}

std::uint64_t SampleOrder::place_in_window(std::uint64_t sample) const {
  const std::uint64_t window = sample / options_.shuffle_window, begin = window * options_.shuffle_window;
  const std::uint64_t size = std::min(options_.shuffle_window, options_.samples - begin);
  return begin + Permutation(size, options_.seed, epoch_, window + 1).position_of(sample - begin);
}

std::uint64_t SampleOrder::window_shuffled(std::uint64_t position) const {
  const std::uint64_t window = position / options_.shuffle_window, begin = window * options_.shuffle_window;
  const std::uint64_t size = std::min(options_.shuffle_window, options_.samples - begin);
  return begin + Permutation(size, options_.seed, epoch_, window + 1)(position - begin);
}

void SampleOrderAhead::list(std::uint64_t first, std::uint64_t expected) {
  first_ = first;
  count_ = std::min({kMostAhead, expected, samples_ - first});
  order_.list(first, std::span(listed_).first(count_));
}

}  // namespace penstock
