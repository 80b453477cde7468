#include <algorithm>
#include <array>
#include <span>

#include <penstock/base/error.hpp>
#include <penstock/loader/plan/plan.hpp>

namespace penstock {
namespace {

std::uint64_t block_count(const PlanOptions& options) {
  if (!options.shuffle || options.shuffle_block == 0) return 0;
  return options.samples / options.shuffle_block + (options.samples % options.shuffle_block != 0);
}

// Positions are computed as start + (b * world + rank) * batch_size + i, which must not overflow.
const PlanOptions& checked(const PlanOptions& options, std::uint64_t start) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
  if (options.batch_size == 0) throw Error::invalid_argument("batch_size must be at least 1");
  if (options.world == 0) throw Error::invalid_argument("world must be at least 1");
  if (options.rank >= options.world) throw Error::invalid_argument("rank must be less than world");
  if (start > options.samples) throw Error::invalid_argument("the start position lies behind the end of the epoch");
  if (options.samples > kLimit || std::uint64_t{options.batch_size} * options.world > kLimit)
    throw Error::invalid_argument("batch_size times world, or the number of samples, is too large");
  return options;
}

}  // namespace

Plan::Plan(const PlanOptions& options, std::uint64_t epoch, std::uint64_t start)
    : options_(checked(options, start)),
      epoch_(epoch),
      start_(start),
      per_step_(std::uint64_t{options.batch_size} * options.world),
      order_(block_count(options) != 0 ? block_count(options) : options.samples, options.seed, epoch),
      blocks_(block_count(options)) {
  if (blocks_ == 0) return;
  short_by_ = blocks_ * options_.shuffle_block - options_.samples;
  short_slot_ = order_.position_of(blocks_ - 1);
}

std::uint64_t Plan::batches() const {
  const std::uint64_t left = options_.samples - start_;
  const bool rest = left % per_step_ != 0 && options_.last != Last::drop;
  return left / per_step_ + rest;
}

void Plan::batch(std::uint64_t b, std::vector<Row>& rows) const {
  if (b >= batches()) throw Error::invalid_argument("batch " + std::to_string(b) + " lies behind the epoch's end");
  const std::uint64_t step = start_ + b * per_step_;
  const std::uint64_t left = options_.samples - step;
  const std::uint64_t count =
      options_.last == Last::keep ? std::min<std::uint64_t>(options_.batch_size, left) : options_.batch_size;
  const std::uint64_t first = step + std::uint64_t{options_.rank} * options_.batch_size;
  rows.clear();
  const std::uint64_t end = std::min(first + count, std::max(first, options_.samples));
  add_rows(first, end, rows);
  for (std::uint64_t position = end; position < first + count; ++position) {
    const std::uint64_t source = (position - options_.samples) % options_.samples;
    rows.push_back({sample_at(source), source, false});
  }
}

// Positions [first, end), which are samples of their own.
void Plan::add_rows(std::uint64_t first, std::uint64_t end, std::vector<Row>& rows) const {
  const bool listed = options_.shuffle && blocks_ == 0;
  std::array<std::uint64_t, 64> samples;
  for (std::uint64_t begin = first; begin < end; begin += samples.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(samples.size(), end - begin);
    if (listed) order_.list(begin, std::span(samples).first(count));
    for (std::uint64_t i = 0; i < count; ++i)
      rows.push_back({listed ? samples[i] : sample_at(begin + i), begin + i, true});
  }
}

std::uint64_t Plan::sample_at(std::uint64_t position) const {
  if (!options_.shuffle) return position;
  return blocks_ != 0 ? block_shuffled(position) : order_(position);
}

std::uint64_t Plan::position_after(std::uint64_t delivered) const {
  return delivered >= batches() ? options_.samples : start_ + delivered * per_step_;
}

// Blocks stand in slots, one behind the other; only the slot of the dataset's last block may be shorter.
std::uint64_t Plan::slot_begin(std::uint64_t slot) const {
  return slot * options_.shuffle_block - (slot > short_slot_ ? short_by_ : 0);
}

std::uint64_t Plan::slot_of(std::uint64_t position) const {
  const bool behind_short = position >= slot_begin(short_slot_ + 1);
  return (position + (behind_short ? short_by_ : 0)) / options_.shuffle_block;
}

std::uint64_t Plan::block_shuffled(std::uint64_t position) const {
  const std::uint64_t window = slot_of(position) / kShuffleWindowBlocks;
  const std::uint64_t begin = slot_begin(window * kShuffleWindowBlocks);
  const std::uint64_t end = slot_begin(std::min(blocks_, (window + 1) * kShuffleWindowBlocks));
  const Permutation inside(end - begin, options_.seed, epoch_, window + 1);
  const std::uint64_t mixed = begin + inside(position - begin);
  const std::uint64_t slot = slot_of(mixed);
  return order_(slot) * options_.shuffle_block + (mixed - slot_begin(slot));
}

}  // namespace penstock
