#include <algorithm>
#include <cmath>
#include <utility>

#include <base/parallel_for.hpp>
#include <order/buckets/bucketed_order.hpp>
#include <order/draws/upper_half_sort.hpp>
#include <order/permutation/permutation.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kBatchesStream = 0x62617463686573;  // "batches"
constexpr std::uint64_t kRowsStream = 0x726f7773'00000000;  // "rows"
constexpr std::size_t kComposedEpochs = 4, kComposedWindows = 2;
// Number of windows that a seek composes at once.
constexpr std::uint64_t kComposedAtOnce = 64;

}  // namespace

bool EpochToCompose::same(const EpochToCompose& other) const {
  return samples == other.samples && shuffle == other.shuffle && shuffle_block == other.shuffle_block &&
         seed == other.seed && epoch == other.epoch && limits.same_batches(other.limits) &&
         (carried == other.carried || (carried && other.carried && *carried == *other.carried));
}

ComposedEpoch::ComposedEpoch(std::shared_ptr<const LengthTable> lengths, std::uint64_t window,
                             const EpochToCompose& what, std::function<ListRows()> make_lister)
    : lengths_(std::move(lengths)),
      window_(std::max<std::uint64_t>(1, window / what.limits.rows()) * what.limits.rows()),
      what_(what),
      make_lister_(std::move(make_lister)) {}

std::uint64_t ComposedEpoch::unit() const {
  return what_.limits.budget != 0 ? what_.limits.world : what_.limits.rows();
}

// The numbers of the first `count` rows, the longest first. Equal lengths keep the order of their positions, as
// docs/order.md requires: both sorts are stable. Ranks below 2^32 fit into the upper half of a number and are sorted in
// linear time.
std::vector<std::uint64_t> ComposedEpoch::sorted(const std::vector<Row>& rows, std::uint64_t count) const {
  std::vector<std::uint64_t> order(count);
  if (lengths_->wide()) {
    for (std::uint64_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater(), [&](std::uint64_t i) { return lengths_->rank(rows[i].sample); });
    return order;
  }
  for (std::uint64_t i = 0; i < count; ++i) order[i] = lengths_->rank(rows[i].sample) << 32 | i;
  sort_by_upper_half(order);
  for (std::uint64_t& number : order) number &= 0xffffffff;
  return order;
}

// The first row of each batch in the sorted rows. A length of 0 gives an infinite quotient, so batch_size applies.
std::vector<std::uint64_t> ComposedEpoch::cut(const std::vector<Row>& rows,
                                              const std::vector<std::uint64_t>& order) const {
  const BatchLimits& limits = what_.limits;
  std::vector<std::uint64_t> begins;
  for (std::uint64_t begin = 0; begin < order.size();) {
    begins.push_back(begin);
    std::uint64_t of_rank = limits.batch_size;
    if (limits.budget != 0) {
      const double fit = std::floor(limits.budget / (*lengths_)[rows[order[begin]].sample]);
      if (fit < limits.batch_size) of_rank = static_cast<std::uint64_t>(fit);
    }
    begin += of_rank * limits.world;
  }
  return begins;
}

ComposedEpoch::Window ComposedEpoch::composed(std::uint64_t number, const ListRows& list) const {
  Window window{.number = number, .rows = {}, .batch_begins = {}};
  const std::uint64_t first = number * window_, end = std::min(what_.samples, first + window_);
  std::vector<Row> listed;
  list(first, end, listed);
  // Only the last window can have a remainder, because window_ is a multiple of the rows of a global batch. Its rows
  // stay at the end, in their order.
  const std::uint64_t whole = listed.size() / unit() * unit();
  const std::vector<std::uint64_t> order = sorted(listed, whole);
  const std::vector<std::uint64_t> begins = cut(listed, order);
  std::vector<std::uint64_t> turns(begins.size()), rows;
  if (what_.shuffle && !begins.empty()) {
    Permutation(begins.size(), what_.seed, what_.epoch, kBatchesStream + number).list(0, turns);
  } else {
    for (std::uint64_t turn = 0; turn < turns.size(); ++turn) turns[turn] = turn;
  }
  window.rows.reserve(listed.size());
  const auto place = [&](const Row& row) {
    window.rows.push_back(row);
    window.rows.back().position = first + window.rows.size() - 1;
  };
  for (const std::uint64_t turn : turns) {
    const std::uint64_t begin = begins[turn], size = (turn + 1 < begins.size() ? begins[turn + 1] : whole) - begin;
    const std::uint64_t here = first + window.rows.size();
    window.batch_begins.push_back(here);
    rows.resize(size);
    if (what_.shuffle) {
      Permutation(size, what_.seed, what_.epoch, kRowsStream + here).list(0, rows);
    } else {
      for (std::uint64_t row = 0; row < size; ++row) rows[row] = row;
    }
    for (const std::uint64_t row : rows) place(listed[order[begin + row]]);
  }
  if (whole < listed.size()) window.batch_begins.push_back(first + whole);
  for (std::uint64_t row = whole; row < listed.size(); ++row) place(listed[row]);
  return window;
}

void ComposedEpoch::keep(std::shared_ptr<const Window> window) {
  kept_.push_front(std::move(window));
  if (kept_.size() > kComposedWindows) kept_.pop_back();
}

std::shared_ptr<const ComposedEpoch::Window> ComposedEpoch::window(std::uint64_t number) {
  const auto known = [&]() -> std::shared_ptr<const Window> {
    const std::scoped_lock lock(mutex_);
    for (const auto& window : kept_)
      if (window->number == number) return window;
    return nullptr;
  };
  if (auto window = known()) return window;
  const std::scoped_lock composing(composing_);
  if (auto window = known()) return window;
  if (!list_) list_ = make_lister_();
  auto window = std::make_shared<const Window>(composed(number, list_));
  const std::scoped_lock lock(mutex_);
  keep(window);
  // begins_ grows in the order of windows, so a window composed out of order adds nothing.
  if (number == begun_) {
    begins_.insert(begins_.end(), window->batch_begins.begin(), window->batch_begins.end());
    ++begun_;
  }
  return window;
}

bool ComposedEpoch::reaches(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  return number < begins_.size() || begun_ == windows();
}

// Records where batches begin, but keeps no rows.
void ComposedEpoch::compose_next(std::uint64_t windows) {
  const std::scoped_lock composing(composing_);
  // Cannot change here: begun_ changes only while composing_ is held.
  const std::uint64_t first = begun_;
  std::vector<std::vector<std::uint64_t>> begins(std::min(windows, this->windows() - first));
  parallel_for(begins.size(), 0,
               [&](std::uint64_t i) { begins[i] = composed(first + i, make_lister_()).batch_begins; });
  const std::scoped_lock lock(mutex_);
  for (const auto& some : begins) begins_.insert(begins_.end(), some.begin(), some.end());
  begun_ += begins.size();
}

std::optional<ComposedEpoch::GlobalBatch> ComposedEpoch::batch(std::uint64_t number) {
  // The next one or two windows are about to be delivered, so their rows are kept.
  for (int next = 0; next < 2 && !reaches(number); ++next) {
    std::uint64_t begun = 0;
    {
      const std::scoped_lock lock(mutex_);
      begun = begun_;
    }
    window(begun);
  }
  while (!reaches(number)) compose_next(kComposedAtOnce);
  const std::scoped_lock lock(mutex_);
  if (number >= begins_.size()) return std::nullopt;
  const std::uint64_t end =
      number + 1 < begins_.size() ? begins_[number + 1] : std::min(what_.samples, begun_ * window_);
  return GlobalBatch{begins_[number], end};
}

std::uint64_t ComposedEpoch::batches() {
  while (!reaches(~std::uint64_t{0})) compose_next(kComposedAtOnce);
  const std::scoped_lock lock(mutex_);
  return begins_.size();
}

BucketedOrder::BucketedOrder(std::string by, std::shared_ptr<const LengthTable> lengths, std::uint64_t window,
                             double budget)
    : by_(std::move(by)), lengths_(std::move(lengths)), window_(window), budget_(budget) {}

std::shared_ptr<ComposedEpoch> BucketedOrder::epoch(const EpochToCompose& what,
                                                    std::function<ComposedEpoch::ListRows()> make_lister) const {
  const std::scoped_lock lock(mutex_);
  const auto known = std::ranges::find_if(epochs_, [&](const auto& epoch) { return epoch->what().same(what); });
  if (known != epochs_.end()) return *known;
  epochs_.push_front(std::make_shared<ComposedEpoch>(lengths_, window_, what, std::move(make_lister)));
  if (epochs_.size() > kComposedEpochs) epochs_.pop_back();
  return epochs_.front();
}

Row BucketedEpoch::row_at(std::uint64_t place) {
  const std::uint64_t number = place / epoch_->window_size();
  if (window_ == nullptr || window_->number != number) window_ = epoch_->window(number);
  return window_->rows[place - number * epoch_->window_size()];
}

}  // namespace penstock
