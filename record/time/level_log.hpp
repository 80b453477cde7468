// Keeps the fill levels of queues and slabs over the last minutes.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/stage_clock.hpp>

namespace penstock {

/// The consumer's thread adds; any thread may read. Samples are kFirst apart. If there are kMost samples, every
/// second one is dropped and the distance doubles. If the distance would exceed kLast, the older half is dropped
/// instead.
class LevelLog {
 public:
  static constexpr std::size_t kMost = 600;
  static constexpr nanoseconds kFirst = std::chrono::milliseconds(100), kLast = std::chrono::milliseconds(800);

  /// Calls look() for the levels if a sample is due.
  template <typename Look>
  void now(Clock::time_point now, Look look) {
    if (now < next_) return;
    Levels levels = look();
    levels.at = now;
    add(levels);
  }
  std::vector<Levels> all() const;  ///< the oldest first
  void reset();

 private:
  void add(const Levels& levels);

  Clock::time_point next_{};  // only used by the consumer's thread
  mutable std::mutex mutex_;  // guards all below
  nanoseconds apart_ = kFirst;
  std::vector<Levels> levels_;
};

}  // namespace penstock
