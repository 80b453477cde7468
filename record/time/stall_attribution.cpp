#include <algorithm>
#include <utility>

#include <record/time/stall_attribution.hpp>

namespace penstock {
namespace {

// place_of() and report() rely on this order: the activities of the named stages come first.
static_assert(StageClocks::kNames.size() == Activity::deliver);

// Adds the work and returns how much of `time` is left.
nanoseconds add_work(std::vector<nanoseconds>& sum, const ActivityTimes& work, nanoseconds time) {
  for (std::size_t kind = 0; kind < work.size(); ++kind) sum[kind] += work[kind];
  return time - sum_of(work);
}

}  // namespace

void StallAttribution::add_stage(std::string name, bool keeps_slabs) {
  const std::size_t place = place_of(stages_.size());
  stages_.push_back(std::move(name));
  waited_for_.resize(std::max(waited_for_.size(), place + 1));
  wait_.resize(waited_for_.size());
  if (keeps_slabs) keeps_slabs_ = place;
}

void StallAttribution::begin(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  began_ = now;
  if (!asked_) asked_ = now;
  log_.asks(now);
  if (!ended_) return;
  busy_ += now - *ended_;
  steps_.add(static_cast<std::uint64_t>((now - *ended_).count()));
  if (trace_ != nullptr && trace_->on())
    trace_->add({.kind = TraceSpan::Kind::step, .begin = *ended_, .took = now - *ended_});
}

void StallAttribution::end(Clock::time_point now, const Journey* journey) {
  const std::scoped_lock lock(mutex_);
  const Clock::time_point began = *std::exchange(began_, std::nullopt);
  ended_ = now;
  waited_ += now - began;
  waits_.add(static_cast<std::uint64_t>((now - began).count()));
  if (trace_ != nullptr && trace_->on()) {
    TraceSpan span{.kind = TraceSpan::Kind::next, .begin = began, .took = now - began};
    if (journey != nullptr) span.batch = journey->batch, span.epoch = journey->epoch, span.number = journey->number;
    trace_->add(span);
  }
  std::ranges::fill(wait_, nanoseconds{});
  if (journey == nullptr) {
    guess(wait_, began, now);
  } else {
    split(wait_, began, now, *journey);
    ++taken_;
    if ((journey->passed.empty() ? journey->finished : journey->passed.back()) <= began) ++ready_;
  }
  for (std::size_t place = 0; place < wait_.size(); ++place) waited_for_[place] += wait_[place];
  log_.gets(now, last_wait(), journey != nullptr);
}

StepTime StallAttribution::last_wait() const {
  StepTime step{.plan = wait_[Activity::plan],
                .read = wait_[Activity::read],
                .decode = wait_[Activity::decode],
                .transform = wait_[Activity::transform],
                .deliver = wait_[Activity::deliver]};
  for (std::size_t place = Activity::count; place < wait_.size(); ++place) {
    const bool shared = stages_[place - Activity::count + 1] == "share";
    (place == keeps_slabs_ ? step.copy : shared ? step.deliver : step.custom_transform) += wait_[place];
  }
  return step;
}

void StallAttribution::epoch_ends(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  log_.epoch_ends(now);
}

void StallAttribution::mark_step(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  log_.mark(now);
}

Steps StallAttribution::steps() const {
  const std::scoped_lock lock(mutex_);
  return log_.steps();
}

// Clamps each time of the journey to the rest of the wait. No part is negative, and the parts add up to the whole.
void StallAttribution::split(Times& times, Clock::time_point from, Clock::time_point to, const Journey& journey) const {
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
  for (std::size_t i = 0; i < journey.passed.size(); ++i) times[place_of(i + 1)] += go_to(journey.passed[i]);
  times[Activity::deliver] += to - at;
}

// The scheduler plans. While it waits for a slab or for room, the workers' activity counts, because they hold what it
// waits for.
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

// Returns the stage that holds all slabs, or the whole window, if no worker is busy.
std::size_t StallAttribution::nobody_works(Activity::Kind wait) const {
  if (wait == Activity::no_room) return Activity::read;
  return keeps_slabs_;
}

// Without a batch there is no journey. The workers' activity counts; their idle time counts as the stage that their
// input comes from.
void StallAttribution::guess(Times& times, Clock::time_point from, Clock::time_point to) const {
  const nanoseconds idle = add_work(times, shared_between(workers_, from, to), to - from);
  times[reads_ahead_ ? Activity::read : Activity::plan] += idle;
}

void StallAttribution::got_batch(std::uint32_t rows, std::uint64_t bytes, std::uint64_t read_bytes,
                                 Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (!first_batch_) first_batch_ = now - asked_.value_or(now);
  samples_ += rows;
  bytes_ += bytes;
  read_bytes_ += read_bytes;
  ++batches_;
}

void StallAttribution::report(Stats& stats) const {
  const std::scoped_lock lock(mutex_);
  stats.samples = samples_;
  stats.batches = batches_;
  stats.bytes_delivered = bytes_;
  stats.stored_bytes = read_bytes_;
  stats.batches_taken = taken_;
  stats.batches_ready = ready_;
  stats.histograms.emplace_back("data_wait", waits_.get());
  stats.histograms.emplace_back("step", steps_.get());
  stats.first_batch = first_batch_.value_or(nanoseconds{});
  stats.data_wait = waited_;
  stats.step_time = busy_;
  stats.wall = waited_ + busy_;
  for (std::size_t kind = 0; kind < StageClocks::kNames.size(); ++kind)
    stats.data_wait_by_stage.emplace_back(StageClocks::kNames[kind], waited_for_[kind]);
  for (std::size_t stage = 0; stage < stages_.size(); ++stage)
    stats.data_wait_by_stage.emplace_back(stages_[stage], waited_for_[place_of(stage)]);
}

// A wait in progress counts from now on.
void StallAttribution::reset(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  waited_ = busy_ = nanoseconds{};
  std::ranges::fill(waited_for_, nanoseconds{});
  samples_ = batches_ = bytes_ = read_bytes_ = taken_ = ready_ = 0;
  waits_.reset();
  steps_.reset();
  log_.reset();
  if (began_) began_ = now;
  ended_.reset();
}

}  // namespace penstock
