#include <algorithm>
#include <array>
#include <span>

#include <order/plan.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Positions are computed as start + (b * world + rank) * batch_size + i, which must not overflow.
const PlanOptions& checked(const PlanOptions& options, std::uint64_t start) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
  if (options.batch_size == 0) throw Error::invalid_argument("batch_size must be at least 1");
  if (options.world == 0) throw Error::invalid_argument("world_size must be at least 1");
  if (options.rank >= options.world) throw Error::invalid_argument("rank must be less than world_size");
  if (start > options.samples) throw Error::invalid_argument("the start position is after the end of the epoch");
  if (options.samples > kLimit || std::uint64_t{options.batch_size} * options.world > kLimit)
    throw Error::invalid_argument("batch_size times world_size, or the number of samples, is too large");
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
  if (options_.mixed != nullptr)
    mixed_ = std::make_shared<MixedEpoch>(MixedEpoch::Options{.order = options_.mixed,
                                                              .carried = options_.carried,
                                                              .within = order_of(options),
                                                              .epoch = epoch,
                                                              .start = start,
                                                              .batch_size = options_.batch_size,
                                                              .rank = options_.rank,
                                                              .world = options_.world});
  if (options_.bucketed != nullptr) bucket();
}

void Plan::bucket() {
  const BatchLimits own{
      .batch_size = options_.batch_size, .world = options_.world, .budget = options_.bucketed->budget()};
  const BatchLimits limits = options_.composed.batch_size != 0 ? options_.composed : own;
  if (limits.budget != 0 && start_ != 0 && start_ != options_.samples)
    throw Error::invalid_argument("an epoch with a budget can only resume at the beginning of one of its batches");
  PlanOptions plain = options_;
  plain.bucketed = nullptr;
  const auto make_lister = [plain, epoch = epoch_]() -> ComposedEpoch::ListRows {
    return [plan = Plan(plain, epoch)](std::uint64_t first, std::uint64_t end, std::vector<Row>& rows) {
      rows.clear();
      plan.add_rows(first, end, rows);
    };
  };
  bucketed_ = std::make_shared<BucketedEpoch>(options_.bucketed->epoch({.samples = options_.samples,
                                                                        .shuffle = options_.shuffle,
                                                                        .shuffle_block = options_.shuffle_block,
                                                                        .seed = options_.seed,
                                                                        .epoch = epoch_,
                                                                        .carried = options_.carried,
                                                                        .limits = limits},
                                                                       make_lister));
}

// With a budget: the first position that last=drop leaves out.
std::uint64_t Plan::ends() const {
  return options_.samples - (options_.last == Last::drop ? options_.samples % bucketed_->limits().world : 0);
}

std::optional<ComposedEpoch::GlobalBatch> Plan::global_batch(std::uint64_t b) const {
  if (start_ == options_.samples) return std::nullopt;
  const auto batch = bucketed_->batch(b);
  return batch && batch->first < ends() ? batch : std::nullopt;
}

bool Plan::has(std::uint64_t b) const {
  return by_budget() ? global_batch(b).has_value() : b < batches();
}

std::uint64_t Plan::batches() const {
  if (by_budget()) {
    if (start_ == options_.samples) return 0;
    return bucketed_->batches() - (ends() < options_.samples ? 1 : 0);
  }
  const std::uint64_t left = options_.samples - start_;
  const bool rest = left % per_step_ != 0 && options_.last != Last::drop;
  return left / per_step_ + rest;
}

void Plan::batch(std::uint64_t b, std::vector<Row>& rows) const {
  if (!has(b)) throw Error::invalid_argument("batch " + std::to_string(b) + " comes after the end of the epoch");
  if (by_budget()) return rows_of(*global_batch(b), rows);
  const std::uint64_t step = start_ + b * per_step_;
  const std::uint64_t left = options_.samples - step;
  const std::uint64_t count =
      options_.last == Last::keep ? std::min<std::uint64_t>(options_.batch_size, left) : options_.batch_size;
  const std::uint64_t first = step + std::uint64_t{options_.rank} * options_.batch_size;
  rows.clear();
  if (mixed_ != nullptr && bucketed_ == nullptr && left >= per_step_) {
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

// Each rank gets equally many rows. A batch that was composed for other ranks may not divide evenly; then its first
// rows are repeated as padding.
void Plan::rows_of(const ComposedEpoch::GlobalBatch& batch, std::vector<Row>& rows) const {
  const std::uint64_t size = batch.end - batch.first;
  const std::uint64_t of_rank = (size + options_.world - 1) / options_.world;
  if (of_rank > options_.batch_size)
    throw Error::invalid_argument(
        "a batch that was composed for other ranks has more rows than the batches of these ranks can hold");
  rows.clear();
  for (std::uint64_t i = options_.rank * of_rank; i < (options_.rank + 1) * of_rank; ++i)
    rows.push_back(row_at(batch.first + i % size, i < size));
}

Plan::Share Plan::share(std::uint64_t b) const {
  if (by_budget()) {
    const auto batch = global_batch(b);
    if (!batch) return {ends(), ends(), ends(), ends()};
    const std::uint64_t of_rank = (batch->end - batch->first + options_.world - 1) / options_.world;
    const std::uint64_t first = batch->first + options_.rank * of_rank;
    return {std::min(first, batch->end), std::min(first + of_rank, batch->end), batch->end, ends()};
  }
  return share_of(options_, start_, b);
}

Plan::Share Plan::share_of(const PlanOptions& options, std::uint64_t start, std::uint64_t b) {
  const std::uint64_t step = std::uint64_t{options.batch_size} * options.world;
  const std::uint64_t left_out = options.last == Last::drop ? (options.samples - start) % step : 0;
  const std::uint64_t ends = options.samples - left_out, begin = start + b * step;
  const std::uint64_t first = begin + std::uint64_t{options.rank} * options.batch_size;
  return {std::min(first, ends), std::min(first + options.batch_size, ends), std::min(begin + step, ends), ends};
}

Row Plan::row_at(std::uint64_t position, bool valid) const {
  if (bucketed_ != nullptr) {
    Row row = bucketed_->row_at(position);
    row.valid = valid;
    return row;
  }
  if (drawn_ != nullptr) {
    const DrawnRow row = drawn_->row_at(position);
    return {row.entry, position, valid, row.occurrence};
  }
  if (mixed_ == nullptr) return {order_.sample_at(position), position, valid};
  const MixedRow row = mixed_->row_at(position);
  return {row.sample, position, valid, row.occurrence};
}

// Adds the rows of positions [first, end), none of which is a repeat.
void Plan::add_rows(std::uint64_t first, std::uint64_t end, std::vector<Row>& rows) const {
  if (bucketed_ != nullptr || mixed_ != nullptr) {
    for (std::uint64_t position = first; position < end; ++position) rows.push_back(row_at(position, true));
    return;
  }
  if (drawn_ != nullptr) {
    std::array<DrawnRow, 64> drawn;
    for (std::uint64_t begin = first; begin < end; begin += drawn.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(drawn.size(), end - begin);
      drawn_->list(begin, std::span(drawn).first(count));
      for (std::uint64_t i = 0; i < count; ++i) rows.push_back({drawn[i].entry, begin + i, true, drawn[i].occurrence});
    }
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
  if (by_budget()) {
    if (delivered == 0) return start_;
    const auto batch = global_batch(delivered);
    return batch ? batch->first : options_.samples;
  }
  return delivered >= batches() ? options_.samples : start_ + delivered * per_step_;
}

}  // namespace penstock
