// The clock of a stage: three sums that any thread may add to and any thread may read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace penstock {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Sums are relaxed atomics: each is a count on its own, read for reports only, and orders nothing.
class TimeSum {
 public:
  void add(nanoseconds time) { sum_.fetch_add(time.count(), std::memory_order_relaxed); }
  nanoseconds get() const { return nanoseconds(sum_.load(std::memory_order_relaxed)); }
  void reset() { sum_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> sum_{0};
};

struct StageClock {
  TimeSum busy, stalled_in, stalled_out;
  void reset() {
    busy.reset();
    stalled_in.reset();
    stalled_out.reset();
  }
};

/// Time between two looks at the clock.
class Stopwatch {
 public:
  nanoseconds lap() { return lap_at(Clock::now()); }
  /// Where somebody has just looked.
  nanoseconds lap_at(Clock::time_point now) { return now - std::exchange(last_, now); }
  Clock::time_point last() const { return last_; }

 private:
  Clock::time_point last_ = Clock::now();
};

/// The clocks of the stages that are threads of the loader.
struct StageClocks {
  StageClock plan, read, decode, transform, deliver, on_batch, copy;
  TimeSum crossing;                             ///< of copies to a device, without what it does behind them
  std::atomic<std::uint64_t> crossed_bytes{0};  // relaxed, as sums are
  void reset() {
    crossing.reset();
    crossed_bytes.store(0, std::memory_order_relaxed);
    for (StageClock* clock : {&plan, &read, &decode, &transform, &deliver, &on_batch, &copy}) clock->reset();
  }
};

}  // namespace penstock
