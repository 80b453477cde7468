// Keeps how full queues and slabs were over the last minutes.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/stage_clock.hpp>

namespace penstock {

/// From the consumer's thread; any thread reads. Looks are kFirst apart. When there are kMost, every second one is let
/// go and they are twice as far apart from then on; once that would be more than kLast, the older half is let go.
class LevelLog {
 public:
  static constexpr std::size_t kMost = 600;
  static constexpr nanoseconds kFirst = std::chrono::milliseconds(100), kLast = std::chrono::milliseconds(800);

  /// Calls look(), which tells the levels, where it is time.
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

  Clock::time_point next_{};  // consumer's thread alone
  mutable std::mutex mutex_;  // guards all below
  nanoseconds apart_ = kFirst;
  std::vector<Levels> levels_;
};

}  // namespace penstock
