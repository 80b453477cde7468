// The clock of a stage: three sums. Any thread may add to them and read them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <penstock/stats.hpp>

namespace penstock {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// A relaxed atomic sum: each is independent, only read for reports, and orders nothing.
class TimeSum {
 public:
  void add(nanoseconds time) { sum_.fetch_add(time.count(), std::memory_order_relaxed); }
  nanoseconds get() const { return nanoseconds(sum_.load(std::memory_order_relaxed)); }
  void reset() { sum_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> sum_{0};
};

struct StageClock {
  TimeSum busy, input_wait, room_wait;
  void reset() {
    busy.reset();
    input_wait.reset();
    room_wait.reset();
  }
  StageStats row(std::string name, unsigned threads) const {  ///< in the table of times
    return {std::move(name), threads, busy.get(), input_wait.get(), room_wait.get()};
  }
};

/// Measures the time between two readings of the clock.
class Stopwatch {
 public:
  nanoseconds lap() { return lap_at(Clock::now()); }
  /// For callers that have just read the clock.
  nanoseconds lap_at(Clock::time_point now) { return now - std::exchange(last_, now); }
  Clock::time_point last() const { return last_; }

 private:
  Clock::time_point last_ = Clock::now();
};

/// The clocks of the stages before delivery. Each later `Stage` has its own clock.
struct StageClocks {
  static constexpr std::array kNames{"plan", "read", "decode", "transform"};  ///< the names in all reports
  StageClock plan, read, decode, transform;
  std::array<StageClock*, kNames.size()> all() { return {&plan, &read, &decode, &transform}; }
};

}  // namespace penstock
