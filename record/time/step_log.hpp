// Keeps what the steps of the consumer took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/stage_clock.hpp>

namespace penstock {

/// Not thread-safe. A point of time before the last one counts as the last one.
class StepLog {
 public:
  static constexpr std::size_t kMost = 8192;  ///< kept, the last ones

  void asks(Clock::time_point now);  ///< next() is called; ends a step where the program does not mark them
  /// It returns, with a batch or without; it took what `waited` says.
  void gets(Clock::time_point now, const StepTime& waited, bool batch);
  void epoch_ends(Clock::time_point now);  ///< next() told so, without a wait
  /// The step ends; from now on only marks end one. With the first mark, what the epoch's batches so far were taken
  /// for, a step each, becomes one.
  void mark(Clock::time_point now);
  Steps steps() const;
  void reset();  ///< a step that is under way goes on from the next call

 private:
  void works(Clock::time_point now);
  void end();
  void take_back_unmarked();

  StepTime current_;
  std::optional<Clock::time_point> since_;  // nothing: not begun
  bool has_batch_ = false;                  // what the program does is of its step
  bool marked_ = false;
  StepTime sum_;
  std::vector<StepTime> kept_;  // a ring, once there are kMost
  std::uint64_t count_ = 0;
  std::uint64_t unmarked_ = 0;  // steps that next() ended, the last ones, of this epoch
};

}  // namespace penstock
