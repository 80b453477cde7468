#include <numeric>

#include <record/time/work_log.hpp>

namespace penstock {
namespace {

// In floating point, because the product of two times in nanoseconds may overflow 64 bits.
nanoseconds scaled(nanoseconds time, nanoseconds part, nanoseconds whole) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * static_cast<double>(part.count()) /
                                               static_cast<double>(whole.count())));
}

}  // namespace

nanoseconds sum_of(const ActivityTimes& times) {
  return std::accumulate(times.begin(), times.end(), nanoseconds{});
}

void add_to(ActivityTimes& sum, const ActivityTimes& times) {
  for (std::size_t kind = 0; kind < sum.size(); ++kind) sum[kind] += times[kind];
}

ActivityTimes scaled(const ActivityTimes& times, nanoseconds part, nanoseconds whole) {
  ActivityTimes shares{};
  for (std::size_t kind = 0; kind < times.size() && part.count() > 0; ++kind)
    shares[kind] = scaled(times[kind], part, whole);
  return shares;
}

void WorkLog::open(Clock::time_point begin) {
  const std::scoped_lock lock(mutex_);
  open_ = begin;
}

void WorkLog::add(Clock::time_point begin, Activity::Kind kind, nanoseconds time) {
  ActivityTimes times{};
  times[kind] = time;
  add(begin, times);
}

void WorkLog::add(Clock::time_point begin, const ActivityTimes& times, bool goes_on) {
  const Clock::time_point end = begin + sum_of(times);
  const std::scoped_lock lock(mutex_);
  open_.reset();
  if (goes_on) open_ = end;
  if (!spans_.empty()) {
    Span& last = spans_[newest_];
    if (last.end == begin && end - last.begin <= kShort) {
      last.end = end;
      return add_to(last.times, times);
    }
  }
  if (spans_.size() < capacity_) {
    newest_ = spans_.size();
    spans_.push_back({begin, end, times});
  } else {
    newest_ = (newest_ + 1) % capacity_;
    spans_[newest_] = {begin, end, times};
  }
}

ActivityTimes WorkLog::part_of(const Span& span, Clock::time_point begin, Clock::time_point end) {
  const nanoseconds length = span.end - span.begin;
  if (length <= kLong) return scaled(span.times, end - begin, length);
  ActivityTimes part{};
  Clock::time_point at = span.begin;
  for (std::size_t kind = 0; kind < span.times.size(); ++kind) {
    const Clock::time_point next = at + span.times[kind];
    part[kind] = std::max(nanoseconds{}, std::min(next, end) - std::max(at, begin));
    at = next;
  }
  return part;
}

// Requires the lock.
std::optional<Clock::time_point> WorkLog::forgotten_before() const {
  if (spans_.size() < capacity_) return std::nullopt;
  return spans_[(newest_ + 1) % capacity_].begin;
}

ActivityTimes WorkLog::between(Clock::time_point from, Clock::time_point to) const {
  ActivityTimes sum{};
  visit(from, to, [&](Clock::time_point, Clock::time_point, const ActivityTimes& times) { add_to(sum, times); });
  std::optional<Clock::time_point> known;
  {
    const std::scoped_lock lock(mutex_);
    known = forgotten_before();
  }
  if (!known || *known <= from || *known >= to) return sum;
  return scaled(sum, to - from, to - *known);
}

ActivityTimes shared_between(const WorkLogs& logs, Clock::time_point from, Clock::time_point to) {
  ActivityTimes sum{};
  for (const auto& log : logs) add_to(sum, log->between(from, to));
  const nanoseconds worked = sum_of(sum);
  return worked <= to - from ? sum : scaled(sum, to - from, worked);
}

}  // namespace penstock
