// Records the durations of the consumer's steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/stage_clock.hpp>

namespace penstock {

/// Not thread-safe. A time before the previous one counts as the previous one.
class StepLog {
 public:
  static constexpr std::size_t kMost = 8192;  ///< number of last steps that are kept

  void asks(Clock::time_point now);  ///< next() is called; this ends a step if the program does not mark steps
  /// next() returns, with a batch or without; `waited` contains the parts of the wait.
  void gets(Clock::time_point now, const StepTime& waited, bool batch);
  void epoch_ends(Clock::time_point now);  ///< next() reported the end of the epoch, without a wait
  /// Ends a step. From then on only marks end steps. Until the first mark, each batch of the epoch counted as a step;
  /// the first mark merges these steps into one.
  void mark(Clock::time_point now);
  Steps steps() const;
  void reset();  ///< a step in progress continues from the next call

 private:
  void works(Clock::time_point now);
  void end();
  void take_back_unmarked();

  StepTime current_;
  std::optional<Clock::time_point> since_;  // nothing: not begun
  bool has_batch_ = false;                  // the program's work belongs to the batch's step
  bool marked_ = false;
  StepTime sum_;
  std::vector<StepTime> kept_;  // a ring once it has kMost steps
  std::uint64_t count_ = 0;
  std::uint64_t unmarked_ = 0;  // number of the epoch's last steps that next() ended
};

}  // namespace penstock
