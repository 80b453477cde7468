// Records when the last rows of a batch passed from stage to stage.
#pragma once

#include <cstdint>
#include <vector>

#include <record/time/stage_clock.hpp>

namespace penstock {

class WorkLog;

/// Times of the group of rows that was finished last, because a batch is complete when these are. The times do not
/// decrease. A time is zero if the group skipped that point.
struct Journey {
  Clock::time_point begun{};        ///< when the batch got a slab
  Clock::time_point sent{};         ///< when the plan was done: its reads begin, or workers may take it at once
  Clock::time_point queued{};       ///< when its bytes arrived and workers may take it
  Clock::time_point finished{};     ///< when the last row was written, mixed and sealed
  const WorkLog* worker = nullptr;  ///< of the thread that did it
  /// By stage after the first: when the stage offered the batch. Each stage adds its time.
  std::vector<Clock::time_point> passed{};
  std::uint64_t batch = 0;              ///< unique in the loader; 0: unknown
  std::uint64_t epoch = 0, number = 0;  ///< of the batch
};

}  // namespace penstock
