#include <algorithm>
#include <utility>

#include <penstock/loader/time/stall_attribution.hpp>

namespace penstock {
namespace {

constexpr std::array<const char*, Activity::no_slab> kNames{"plan", "read", "decode", "transform", "deliver"};

// Adds what was done; tells how much of `time` is left.
template <typename Times>
nanoseconds add_work(Times& sum, const ActivityTimes& work, nanoseconds time) {
  for (std::size_t kind = 0; kind < work.size(); ++kind) sum[kind] += work[kind];
  return time - sum_of(work);
}

}  // namespace

void StallAttribution::begin(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  began_ = now;
  if (ended_) busy_ += now - *ended_;
}

void StallAttribution::end(Clock::time_point now, const Journey* journey) {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point began = *std::exchange(began_, std::nullopt);
  ended_ = now;
  waited_ += now - began;
  const Times times = journey == nullptr ? guess(began, now) : split(began, now, *journey);
  for (std::size_t stage = 0; stage < times.size(); ++stage) waited_for_[stage] += times[stage];
}

StallAttribution::Times StallAttribution::split(Clock::time_point from, Clock::time_point to,
                                                const Journey& journey) const {
  Times times{};
  Clock::time_point at = from;
  const auto go_to = [&](Clock::time_point point) {
    const Clock::time_point before = std::exchange(at, std::clamp(point, at, to));
    return at - before;
  };
  go_to(journey.sent);
  add_plan(times, from, at);
  times[Activity::read] += go_to(journey.queued);
  const Clock::time_point queued = at;
  const nanoseconds worked = go_to(journey.finished);
  if (journey.worker != nullptr)
    times[Activity::deliver] += add_work(times, journey.worker->between(queued, at), worked);
  else
    times[Activity::deliver] += worked;
  times[on_batch] += go_to(journey.stepped);
  times[copy] += go_to(journey.copied);
  times[Activity::deliver] += to - at;
  return times;
}

// The scheduler plans, and of its waits for a slab or for room counts what the workers did, who have what it waits for.
void StallAttribution::add_plan(Times& times, Clock::time_point from, Clock::time_point to) const {
  nanoseconds left = to - from;
  scheduler_.visit(from, to, [&](Clock::time_point begin, Clock::time_point end, const ActivityTimes& fed) {
    for (const Activity::Kind wait : {Activity::no_slab, Activity::no_room}) {
      const ActivityTimes work = scaled(shared_between(workers_, begin, end), fed[wait], end - begin);
      times[nobody_works(wait)] += add_work(times, work, fed[wait]);
      left -= fed[wait];
    }
  });
  times[Activity::plan] += left;
}

// Who has all slabs, or the whole window, where no worker is at work.
std::size_t StallAttribution::nobody_works(Activity::Kind wait) const {
  if (wait == Activity::no_room) return Activity::read;
  return terms_.copies ? std::size_t{copy} : std::size_t{Activity::deliver};
}

// Without a batch: what the workers did tells, and where they did nothing, where their work comes from.
StallAttribution::Times StallAttribution::guess(Clock::time_point from, Clock::time_point to) const {
  Times times{};
  const nanoseconds idle = add_work(times, shared_between(workers_, from, to), to - from);
  times[terms_.reads_ahead ? Activity::read : Activity::plan] += idle;
  return times;
}

void StallAttribution::got_batch(std::uint32_t rows, std::uint64_t bytes, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (first_batch_.count() == 0) first_batch_ = now - constructed_;
  samples_ += rows;
  bytes_ += bytes;
  ++batches_;
}

void StallAttribution::report(Stats& stats) const {
  const std::scoped_lock lock(mutex_);
  stats.samples = samples_;
  stats.batches = batches_;
  stats.bytes_delivered = bytes_;
  stats.first_batch = first_batch_;
  stats.consumer_wait = waited_;
  stats.consumer_busy = busy_;
  stats.wall = waited_ + busy_;
  for (std::size_t stage = 0; stage < kNames.size(); ++stage)
    stats.waited_for.emplace_back(kNames[stage], waited_for_[stage]);
  if (terms_.on_batch) stats.waited_for.emplace_back(*terms_.on_batch, waited_for_[on_batch]);
  if (terms_.copies) stats.waited_for.emplace_back("copy", waited_for_[copy]);
}

// Of a wait under way, what is left of it counts.
void StallAttribution::reset(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  waited_ = busy_ = nanoseconds{};
  waited_for_ = {};
  samples_ = batches_ = bytes_ = 0;
  if (began_) began_ = now;
  ended_.reset();
}

}  // namespace penstock
