// Records what a thread of the loader did lately, so that a wait can be compared with it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <record/time/stage_clock.hpp>

namespace penstock {

/// What the scheduler and the workers do with their time. The last two are waits of the scheduler's: for a free slab,
/// and for room in the read window.
struct Activity {
  enum Kind : std::size_t { plan, read, decode, transform, deliver, no_slab, no_room, count };
};
/// Time by Activity::Kind.
using ActivityTimes = std::array<nanoseconds, Activity::count>;

nanoseconds sum_of(const ActivityTimes& times);
void add_to(ActivityTimes& sum, const ActivityTimes& times);
/// times * part / whole, rounded down; zeros for a part that is not positive.
ActivityTimes scaled(const ActivityTimes& times, nanoseconds part, nanoseconds whole);

/// The last spans of one thread's time. One thread adds, any thread asks.
class WorkLog {
 public:
  static constexpr nanoseconds kShort{200'000};   ///< spans that touch become one that is no longer than this
  static constexpr nanoseconds kLong{1'000'000};  ///< a longer one is a single row's: its parts follow each other

  explicit WorkLog(std::size_t spans = 512) : capacity_(spans) { spans_.reserve(spans); }

  /// The thread works from now on.
  void open(Clock::time_point begin);
  /// What was done from `begin` on, without a gap. `goes_on`: the thread works on.
  void add(Clock::time_point begin, const ActivityTimes& times, bool goes_on = false);
  void add(Clock::time_point begin, Activity::Kind kind, nanoseconds time);
  /// The thread is inside a read, or no longer.
  void reading(bool now) { reading_.store(now, std::memory_order_relaxed); }

  /// What was done in [from, to); what is missing of that time the thread did nothing. Of a long span the parts are
  /// laid out in their order, of others each has its share. Work that is not over yet counts as read inside a read,
  /// else as decode. What lies before the oldest span that is kept counts as what lies behind it.
  ActivityTimes between(Clock::time_point from, Clock::time_point to) const;

  /// Calls visit(begin, end, times) for the part of each span that lies in [from, to), the newest first.
  template <typename Visit>
  void visit(Clock::time_point from, Clock::time_point to, Visit visit) const {
    const std::scoped_lock lock(mutex_);
    if (open_ && *open_ < to) {
      const Clock::time_point begin = std::max(*open_, from);
      ActivityTimes times{};
      times[reading_.load(std::memory_order_relaxed) ? Activity::read : Activity::decode] = to - begin;
      visit(begin, to, times);
    }
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const Span& span = spans_[(newest_ + spans_.size() - i) % spans_.size()];
      const Clock::time_point begin = std::max(span.begin, from), end = std::min(span.end, to);
      if (begin < end) visit(begin, end, part_of(span, begin, end));
      if (span.begin <= from) return;
    }
  }

 private:
  struct Span {
    Clock::time_point begin, end;
    ActivityTimes times;
  };
  static ActivityTimes part_of(const Span& span, Clock::time_point begin, Clock::time_point end);
  std::optional<Clock::time_point> forgotten_before() const;

  const std::size_t capacity_;
  std::atomic<bool> reading_{false};  // relaxed: for reports only, orders nothing
  mutable std::mutex mutex_;          // guards all below
  std::vector<Span> spans_;           // a ring once there are as many as it may hold
  std::size_t newest_ = 0;
  std::optional<Clock::time_point> open_;
};

using WorkLogs = std::vector<std::unique_ptr<WorkLog>>;

/// What the threads did together in [from, to), as parts of that time. Where they worked for longer than it is, each
/// kind has its share; where for less, they are taken to have worked one after the other, and the rest is missing.
ActivityTimes shared_between(const WorkLogs& logs, Clock::time_point from, Clock::time_point to);

/// While this lives, the log's thread is inside a read. The time is added to `sum`, also where the read throws.
class ReadTime {
 public:
  ReadTime(WorkLog* log, nanoseconds& sum) : log_(log), sum_(sum) {
    if (log_ != nullptr) log_->reading(true);
  }
  ~ReadTime() {
    sum_ += watch_.lap();
    if (log_ != nullptr) log_->reading(false);
  }
  ReadTime(const ReadTime&) = delete;
  ReadTime& operator=(const ReadTime&) = delete;

 private:
  WorkLog* const log_;
  nanoseconds& sum_;
  Stopwatch watch_;
};

}  // namespace penstock
