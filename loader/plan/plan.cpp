#include <algorithm>
#include <array>
#include <span>

#include <penstock/base/error.hpp>
#include <penstock/loader/plan/plan.hpp>

namespace penstock {
namespace {

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

SampleOrderOptions order_of(const PlanOptions& options) {
  return {.samples = options.samples,
          .shuffle = options.shuffle,
          .shuffle_block = options.shuffle_block,
          .shuffle_window = options.shuffle_window,
          .seed = options.seed};
}

}  // namespace

Plan::Plan(const PlanOptions& options, std::uint64_t epoch, std::uint64_t start)
    : options_(checked(options, start)),
      epoch_(epoch),
      start_(start),
      per_step_(std::uint64_t{options.batch_size} * options.world),
      order_(order_of(options), epoch) {
  if (options_.draws != nullptr) drawn_ = std::make_shared<DrawEpoch>(options_.draws, order_of(options), epoch);
  if (options_.mixed == nullptr) return;
  mixed_ = std::make_shared<MixedEpoch>(MixedEpoch::Options{.order = options_.mixed,
                                                            .carried = options_.carried,
                                                            .within = order_of(options),
                                                            .epoch = epoch,
                                                            .start = start,
                                                            .batch_size = options_.batch_size,
                                                            .rank = options_.rank,
                                                            .world = options_.world});
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
  if (mixed_ != nullptr && left >= per_step_) {
    std::vector<MixedRow> mixed;
    mixed_->rows_of(b, mixed);
    for (const MixedRow& row : mixed) rows.push_back({row.sample, row.position, true, row.occurrence});
    return;
  }
  const std::uint64_t end = std::min(first + count, std::max(first, options_.samples));
  add_rows(first, end, rows);
  for (std::uint64_t position = end; position < first + count; ++position)
    rows.push_back(row_at((position - options_.samples) % options_.samples, false));
}

Row Plan::row_at(std::uint64_t position, bool valid) const {
  if (drawn_ != nullptr) {
    const DrawnRow row = drawn_->row_at(position);
    return {row.entry, position, valid, row.occurrence};
  }
  if (mixed_ == nullptr) return {order_.sample_at(position), position, valid};
  const MixedRow row = mixed_->row_at(position);
  return {row.sample, position, valid, row.occurrence};
}

// Positions [first, end), which are samples of their own.
void Plan::add_rows(std::uint64_t first, std::uint64_t end, std::vector<Row>& rows) const {
  if (drawn_ != nullptr) {
    std::array<DrawnRow, 64> drawn;
    for (std::uint64_t begin = first; begin < end; begin += drawn.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(drawn.size(), end - begin);
      drawn_->list(begin, std::span(drawn).first(count));
      for (std::uint64_t i = 0; i < count; ++i) rows.push_back({drawn[i].entry, begin + i, true, drawn[i].occurrence});
    }
    return;
  }
  if (mixed_ != nullptr) {
    for (std::uint64_t position = first; position < end; ++position) rows.push_back(row_at(position, true));
    return;
  }
  std::array<std::uint64_t, 64> samples;
  for (std::uint64_t begin = first; begin < end; begin += samples.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(samples.size(), end - begin);
    order_.list(begin, std::span(samples).first(count));
    for (std::uint64_t i = 0; i < count; ++i) rows.push_back({samples[i], begin + i, true});
  }
}

std::uint64_t Plan::sample_at(std::uint64_t position) const {
  return row_at(position, true).sample;
}

std::uint64_t Plan::position_after(std::uint64_t delivered) const {
  return delivered >= batches() ? options_.samples : start_ + delivered * per_step_;
}

}  // namespace penstock
