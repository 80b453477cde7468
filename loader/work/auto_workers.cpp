#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <loader/work/auto_workers.hpp>

namespace penstock {
namespace {

using namespace std::chrono_literals;

constexpr Clock::duration kSettle = 300ms, kStretch = 1s, kLongStretch = 4s, kLongSettle = 3s;
constexpr std::uint64_t kBatches = 8;  // of an interval, because short intervals vary; a long interval may have fewer

constexpr double kStarved = 0.02;  // share of the consumer's time: larger than the error of measurement
constexpr double kAtWork = 0.85;   // share of the workers' time from which on workers are the bottleneck
constexpr double kHasIdle = 0.66;  // share of the workers' time below which some are idle
constexpr double kFull = 0.75;     // target share of the remaining workers' time
constexpr double kBrings = 1.02;   // factor by which more workers must raise the rate
constexpr double kCosts = 0.99;    // factor by which fewer workers may lower the rate
constexpr double kCrowded = 0.1;   // share of the workers' time that they wait for a core
constexpr double kMostlyCrowded = 0.5;
constexpr double kClearly = 0.88;  // the reduced number must be clearly below the present one to be worth a change
constexpr double kSpare = 1;       // additional workers per worker that is never on a core
constexpr unsigned kIdleStretches = 4, kCrowdedStretches = 3;

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

AutoWorkers::AutoWorkers(unsigned share, double cores, unsigned most, unsigned ahead)
    : share_(share),
      ahead_(ahead),
      share_of_cores_(cores),
      most_(std::max(share, most)),
      active_(share),
      wanted_(share) {
  reset(Clock::now());
}

void AutoWorkers::Trial::failed() {
  hold = after_failure;
  after_failure = std::min(kLongestHold, 2 * after_failure);
}

// After a change, first waits until the batches that were ahead of the consumer have passed. These were made by the
// old number of workers and would distort the measurement.
bool AutoWorkers::due(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  ++batches_;
  const Clock::duration took = now - since_;
  if (settling_) return (took >= kSettle && batches_ > ahead_) || (took >= kLongSettle && batches_ > 1);
  return (took >= kStretch && batches_ >= kBatches) || (took >= kLongStretch && batches_ > 1);
}

unsigned AutoWorkers::look(const WorkDone& done, std::optional<double> idle, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const double wall = seconds_of(now - since_);
  const bool counted = !settling_ && done.samples >= from_.samples && done.worked >= from_.worked && wall > 0;
  if (counted) {
    const Stretch latest = stretch(done, wall);
    alone_ = latest.alone;
    wanted_ = active_;
    if (trying_ != nullptr)
      judge(latest);
    else
      move(latest, idle);
  }
  const bool settles = counted && wanted_ != active_;
  if (settles) change(wanted_, now);
  settling_ = settles;
  from_ = done;
  since_ = now;
  batches_ = 0;
  return active_;
}

AutoWorkers::Stretch AutoWorkers::stretch(const WorkDone& done, double wall) const {
  const double worked = seconds_of(done.worked - from_.worked), on = seconds_of(done.on_cores - from_.on_cores);
  const double awaited = std::clamp(seconds_of(done.awaited_cores - from_.awaited_cores), 0.0, worked);
  const bool told = on > 0 && worked > 0;
  // Threads that wake up also wait for cores. If most of the time is such waiting, it is a poor measure of the work.
  const bool clear = told && awaited < kMostlyCrowded * worked;
  double alone = told ? (alone_ > 0 ? alone_ : 1) : 0;
  if (clear) alone = std::clamp(on / std::max(worked - awaited, on), 0.001, 1.0);
  return {.rate = static_cast<double>(done.samples - from_.samples) / wall,
          .waited = seconds_of(done.waited - from_.waited) / wall,
          .working = worked / wall,
          .on = on / wall,
          .alone = alone,
          .crowded = worked > 0 ? awaited / worked : 0};
}

// Decides whether to keep the result of a trial.
void AutoWorkers::judge(const Stretch& now) {
  Trial& tried = *std::exchange(trying_, nullptr);
  const bool good = &tried == &more_ ? now.rate >= kBrings * before_.rate || now.waited < kStarved
                                     : now.rate >= kCosts * before_.rate && now.waited <= before_.waited + kStarved;
  if (good) return tried.worked();
  tried.failed();
  wanted_ = std::min(active_before_, most_);
}

void AutoWorkers::move(const Stretch& now, std::optional<double> idle) {
  if (more_.hold > 0) --more_.hold;
  if (fewer_.hold > 0) --fewer_.hold;
  const double active = active_;
  // `useful` workers keep busy all cores that this loader may use; `served` workers keep busy those that it has and
  // the idle ones. Both exceed the number of cores if workers wait for storage, because the waits of several workers
  // may coincide.
  const double cores = std::max(now.on + idle.value_or(now.on), share_of_cores_);
  const double spare = 1 + kSpare * (1 - now.alone);
  const double useful = now.alone > 0 ? spare * cores / now.alone : 2 * active;
  const double served = now.alone > 0 ? spare * (now.on + idle.value_or(0)) / now.alone : active;
  const bool starved = now.waited > kStarved && now.working > kAtWork * active && now.crowded < kMostlyCrowded;
  const bool crowded = active_ > share_ && now.crowded > kCrowded && served < kClearly * active;
  idle_stretches_ = now.working < kHasIdle * active ? idle_stretches_ + 1 : 0;
  crowded_stretches_ = crowded ? crowded_stretches_ + 1 : 0;
  if (crowded_stretches_ >= kCrowdedStretches) {
    crowded_stretches_ = 0;
    wanted_ = std::clamp(static_cast<unsigned>(served), share_, active_);
    // A try with more workers would end in the same way, so the next one is delayed.
    more_.failed();
  } else if (starved && more_.hold == 0 && !crowded) {
    wanted_ = std::min({most_, 2 * active_, static_cast<unsigned>(std::min(useful + 0.2, 1e6))});
    wanted_ = std::max(wanted_, active_);
    trying_ = wanted_ > active_ ? &more_ : nullptr;
  } else if (idle_stretches_ >= kIdleStretches && fewer_.hold == 0) {
    wanted_ = std::clamp(static_cast<unsigned>(std::ceil(now.working / kFull)), 1U, active_);
    trying_ = wanted_ < active_ ? &fewer_ : nullptr;
  }
  before_ = now;
  active_before_ = active_;
}

void AutoWorkers::change(unsigned workers, Clock::time_point now) {
  sum_ += active_ * seconds_of(now - since_change_);
  since_change_ = now;
  active_ = workers;
  idle_stretches_ = crowded_stretches_ = 0;
}

void AutoWorkers::limit(unsigned most, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  most_ = std::max(1U, most);
  trying_ = nullptr;
  if (active_ > most_) change(most_, now);
}

unsigned AutoWorkers::active() const {
  const std::scoped_lock lock(mutex_);
  return active_;
}

double AutoWorkers::average(Clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  const double wall = seconds_of(now - reset_);
  return wall > 0 ? (sum_ + active_ * seconds_of(now - since_change_)) / wall : active_;
}

void AutoWorkers::reset(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  sum_ = 0;
  reset_ = since_change_ = since_ = now;
  from_ = {};
  batches_ = 0;
  settling_ = true;
}

}  // namespace penstock
