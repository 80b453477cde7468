// The consumer's time: what it waited, for which stage, and what it did in between.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <penstock/loader/stage_clock.hpp>
#include <penstock/loader/stats.hpp>

namespace penstock {

/// Splits each wait over the stages by what they did meanwhile, so that the parts add up to the whole: workers' time in
/// read, decode, transform and assembly counts for those stages; their idle time for the reader where it reads ahead
/// (the bytes were not there), else for the plan. What the user's own step, or copies to a device, worked of a wait
/// counts for them, and only the rest for the others.
class Waits {
 public:
  /// A stage behind delivery, with a clock of `clocks`.
  struct Behind {
    std::string name;
    const StageClock* clock;
    nanoseconds before{}, waited{};
  };
  Waits(const StageClocks& clocks, bool reads_ahead, std::vector<Behind> behind)
      : clocks_(clocks), reads_ahead_(reads_ahead), behind_(std::move(behind)) {}

  void begin();  ///< next() is called
  void end();    ///< it returns
  void got_batch(std::uint32_t rows, std::uint64_t bytes);
  void report(Stats& stats) const;
  void reset();

 private:
  enum Stage : std::size_t { plan, read, decode, transform, deliver, count };
  using Times = std::array<nanoseconds, count>;
  Times worked() const;

  const StageClocks& clocks_;
  const bool reads_ahead_;
  const Clock::time_point constructed_ = Clock::now();
  mutable std::mutex mutex_;  // guards all below: stats() may come from another thread
  Clock::time_point first_call_{}, began_{}, ended_{};
  Times before_{}, waited_for_{};
  std::vector<Behind> behind_;
  nanoseconds waited_{}, busy_{}, first_batch_{};
  std::uint64_t samples_ = 0, batches_ = 0, bytes_ = 0;
};

/// One wait, also where it ends in an exception.
class Waiting {
 public:
  explicit Waiting(Waits& waits) : waits_(waits) { waits_.begin(); }
  ~Waiting() { waits_.end(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Waits& waits_;
};

}  // namespace penstock
