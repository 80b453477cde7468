// Records the recent work of a loader's thread, so that a wait can be compared with it.
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

/// The activities of the scheduler and the workers. The last two are waits of the scheduler: for a free slab, and for
/// room in the read window.
struct Activity {
  enum Kind : std::size_t { plan, read, decode, transform, deliver, no_slab, no_room, count };
};
/// Time by Activity::Kind.
using ActivityTimes = std::array<nanoseconds, Activity::count>;

nanoseconds sum_of(const ActivityTimes& times);
void add_to(ActivityTimes& sum, const ActivityTimes& times);
/// Returns times * part / whole, rounded down; zeros if `part` is not positive.
ActivityTimes scaled(const ActivityTimes& times, nanoseconds part, nanoseconds whole);

/// The last time spans of one thread. That thread adds spans; any thread may read them.
class WorkLog {
 public:
  static constexpr nanoseconds kShort{200'000};  ///< adjacent spans are merged up to this duration
  /// A longer span belongs to a single row, whose activities follow each other.
  static constexpr nanoseconds kLong{1'000'000};

  explicit WorkLog(std::size_t spans = 512) : capacity_(spans) { spans_.reserve(spans); }

  /// Marks the thread as working from `begin` on.
  void open(Clock::time_point begin);
  /// Adds the work since `begin`, without a gap. `goes_on`: the thread continues to work.
  void add(Clock::time_point begin, const ActivityTimes& times, bool goes_on = false);
  void add(Clock::time_point begin, Activity::Kind kind, nanoseconds time);
  /// Marks that the thread is inside a read, or no longer is.
  void reading(bool now) { reading_.store(now, std::memory_order_relaxed); }

  /// Returns the work in [from, to); the thread was idle for the missing time. Activities of a long span are placed
  /// in their order; those of a short span are scaled. Unfinished work counts as read inside a read, else as decode.
  /// For the time before the oldest kept span, the work after it is extrapolated.
  ActivityTimes between(Clock::time_point from, Clock::time_point to) const;

  /// Calls visit(begin, end, times) for the part of each span in [from, to), the newest first.
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
  std::atomic<bool> reading_{false};  // relaxed: only for reports, orders nothing
  mutable std::mutex mutex_;          // guards all below
  std::vector<Span> spans_;           // a ring once it is full
  std::size_t newest_ = 0;
  std::optional<Clock::time_point> open_;
};

using WorkLogs = std::vector<std::unique_ptr<WorkLog>>;

/// Returns the threads' total work in [from, to) as parts of that time. If the total is longer than the interval,
/// each activity is scaled down. If it is shorter, the threads are assumed to have worked one after the other, and
/// the rest is missing.
ActivityTimes shared_between(const WorkLogs& logs, Clock::time_point from, Clock::time_point to);

/// Marks the log's thread as inside a read during its lifetime. Adds the time to `sum`, even if the read throws.
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
