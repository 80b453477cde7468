// The time of one measurement.
#pragma once

#include <chrono>
#include <functional>

#include <penstock/error.hpp>

namespace penstock {

/// Starts when it is made. Thread-safe if `keep_going` is, which must outlive it.
class Stopwatch {
 public:
  Stopwatch(std::chrono::milliseconds time, const std::function<bool()>& keep_going)
      : time_(time), keep_going_(keep_going), begin_(Clock::now()) {}

  /// Whether `time` has passed. Throws Error: resource, if keep_going() returns false.
  bool over() const {
    if (keep_going_ && !keep_going_()) throw Error::resource("interrupted");
    return Clock::now() - begin_ >= time_;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds time_;
  const std::function<bool()>& keep_going_;
  Clock::time_point begin_;
};

}  // namespace penstock
