#include <algorithm>

#include <penstock/loader/waits.hpp>

namespace penstock {
namespace {

constexpr std::array<const char*, 5> kNames{"plan", "read", "decode", "transform", "deliver"};

}  // namespace

Waits::Times Waits::worked() const {
  Times times{};
  times[read] = clocks_.read.busy.get();
  times[decode] = clocks_.decode.busy.get();
  times[transform] = clocks_.transform.busy.get();
  times[deliver] = clocks_.deliver.busy.get();
  times[reads_ahead_ ? read : plan] += clocks_.decode.stalled_in.get();
  return times;
}

void Waits::begin() {
  const std::scoped_lock lock(mutex_);
  began_ = Clock::now();
  before_ = worked();
  for (Behind& stage : behind_) stage.before = stage.clock->busy.get();
  if (first_call_ == Clock::time_point{}) {
    first_call_ = began_;
  } else {
    busy_ += began_ - ended_;
  }
}

void Waits::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = Clock::now();
  waited_ += ended_ - began_;
  nanoseconds wait = ended_ - began_;
  for (Behind& stage : behind_) {
    // A batch that the stage was at when the wait began has been worked at longer than the wait.
    const nanoseconds worked_on = std::clamp<nanoseconds>(stage.clock->busy.get() - stage.before, {}, wait);
    stage.waited += worked_on;
    wait -= worked_on;
  }
  Times share = worked();
  nanoseconds all{};
  for (std::size_t i = 0; i < count; ++i) all += share[i] - before_[i];
  const bool nothing_recorded = all.count() <= 0;  // a wait shorter than a task: take the shares so far
  all = nanoseconds{};
  for (std::size_t i = 0; i < count; ++i) {
    if (!nothing_recorded) share[i] -= before_[i];
    all += share[i];
  }
  nanoseconds left = wait;
  for (std::size_t i = 0; i < count && all.count() > 0; ++i) {
    const nanoseconds part(static_cast<std::int64_t>(
        static_cast<double>(wait.count()) * static_cast<double>(share[i].count()) / static_cast<double>(all.count())));
    waited_for_[i] += part;
    left -= part;
  }
  waited_for_[deliver] += left;  // what rounding left over, or a wait before any work
}

void Waits::got_batch(std::uint32_t rows, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (first_batch_.count() == 0) first_batch_ = Clock::now() - constructed_;
  samples_ += rows;
  bytes_ += bytes;
  ++batches_;
}

void Waits::report(Stats& stats) const {
  const std::scoped_lock lock(mutex_);
  stats.samples = samples_;
  stats.batches = batches_;
  stats.bytes_delivered = bytes_;
  stats.first_batch = first_batch_;
  stats.consumer_wait = waited_;
  stats.consumer_busy = busy_;
  if (first_call_ != Clock::time_point{}) stats.wall = ended_ - first_call_;
  for (std::size_t i = 0; i < count; ++i) stats.waited_for.emplace_back(kNames[i], waited_for_[i]);
  for (const Behind& stage : behind_) stats.waited_for.emplace_back(stage.name, stage.waited);
}

void Waits::reset() {
  const std::scoped_lock lock(mutex_);
  waited_ = busy_ = nanoseconds{};
  for (Behind& stage : behind_) stage.waited = {};
  waited_for_ = {};
  samples_ = batches_ = bytes_ = 0;
  first_call_ = {};
}

}  // namespace penstock
