#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <loader/batch/batch_builder.hpp>

namespace penstock {

void BatchBuilder::begin(std::uint64_t seed, std::uint64_t generation, std::uint64_t sequence) {
  seed_ = seed;
  generation_.store(generation, std::memory_order_relaxed);
  sequence_ = sequence;
  failure_ = nullptr;
  failures_ = 0;
  bad_.clear();
  broken_.clear();
  read_bytes_.store(0, std::memory_order_relaxed);
  for (std::uint32_t unit = 0; unit < units(); ++unit) set_state(unit, RowState::planned);
  remaining_.store(units(), std::memory_order_release);
}

Journey BatchBuilder::journey_of(Clock::time_point sent, Clock::time_point queued) const {
  return {.begun = begun,
          .sent = sent,
          .queued = queued,
          .batch = (generation() << 32) + sequence_ + 1,
          .epoch = slab_.epoch,
          .number = slab_.number};
}

bool BatchBuilder::finish_rows(std::uint32_t count) {
  // acq_rel: the last worker must see the values that the others wrote into the slab.
  return remaining_.fetch_sub(count, std::memory_order_acq_rel) == count;
}

void BatchBuilder::fail(std::uint32_t row, std::exception_ptr failure) {
  const std::scoped_lock lock(mutex_);
  if (failures_++ == 0 || row < failed_row_) {
    failure_ = std::move(failure);
    failed_row_ = row;
  }
}

void BatchBuilder::add_bad(std::uint32_t row, BadSample bad) {
  const std::scoped_lock lock(mutex_);
  bad_.emplace_back(row, std::move(bad));
}

void BatchBuilder::add_broken(BrokenRow broken) {
  const std::scoped_lock lock(mutex_);
  broken_.push_back(std::move(broken));
}

std::vector<BrokenRow> BatchBuilder::take_broken() {
  const auto order = [](const BrokenRow& broken) {
    return std::tuple(broken.place.row, broken.place.window, broken.place.step);
  };
  std::ranges::sort(broken_, {}, order);
  const auto again = std::ranges::unique(broken_, {}, [](const BrokenRow& broken) { return broken.place.row; });
  broken_.erase(again.begin(), again.end());
  return std::exchange(broken_, {});
}

std::vector<BadSample> BatchBuilder::take_bad() {
  std::sort(bad_.begin(), bad_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<BadSample> taken;
  for (auto& [row, bad] : bad_) taken.push_back(std::move(bad));
  bad_.clear();
  return taken;
}

std::string BatchBuilder::describe(const std::function<std::string_view(const Row&)>& key_of) const {
  static constexpr std::array<const char*, 5> names{"planned", "reading", "queued", "decoding", "done"};
  constexpr int kNamed = 4;
  std::string text = "batch " + std::to_string(slab_.number) + " of epoch " + std::to_string(slab_.epoch) + " lacks ";
  std::uint32_t missing = 0;
  std::string named;
  for (std::uint32_t unit = 0; unit < units(); ++unit) {
    const RowState state = states_[unit].load(std::memory_order_relaxed);
    if (state == RowState::done) continue;
    if (missing++ < kNamed) {
      named.append(named.empty() ? "" : ", ")
          .append(cells.empty() ? key_of(rows[unit]) : cells[unit].key)
          .append(" ")
          .append(names[static_cast<std::size_t>(state)]);
    }
  }
  return text + std::to_string(missing) + " rows (" + named + (missing > kNamed ? ", ..." : "") + ")";
}

}  // namespace penstock
