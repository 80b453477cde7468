// Records when the rows that a batch waited for longest passed from stage to stage.
#pragma once

#include <cstdint>
#include <vector>

#include <record/time/stage_clock.hpp>

namespace penstock {

class WorkLog;

/// Of the group of rows that was finished last. Each point is not before the one above it; one that was not passed is
/// left out: zero.
struct Journey {
  Clock::time_point begun{};     ///< the batch has a slab
  Clock::time_point sent{};      ///< the plan is done with it: its reads begin, or it is given to the workers at once
  Clock::time_point queued{};    ///< its bytes are there, and workers may take it
  Clock::time_point finished{};  ///< the last row is written, mixed and sealed
  const WorkLog* worker = nullptr;  ///< of the thread that did it
  /// The batch could be had from each stage behind the first, in their order: who hands it on adds the time.
  std::vector<Clock::time_point> passed{};
  std::uint64_t batch = 0;              ///< which no other one of the loader's is; 0: not said
  std::uint64_t epoch = 0, number = 0;  ///< of it
};

}  // namespace penstock
