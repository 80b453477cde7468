// Records when the rows that a batch waited for longest passed from stage to stage.
#pragma once

#include <penstock/loader/time/stage_clock.hpp>

namespace penstock {

class WorkLog;

/// Of the group of rows that was finished last. Each point is not before the one above it; one that was not passed is
/// left out: zero.
struct Journey {
  Clock::time_point sent{};      ///< the plan is done with it: its reads begin, or it is given to the workers at once
  Clock::time_point queued{};    ///< its bytes are there, and workers may take it
  Clock::time_point finished{};  ///< the last row is written, mixed and sealed
  const WorkLog* worker = nullptr;  ///< of the thread that did it
  Clock::time_point stepped{};      ///< the user's own step on the batch is over
  Clock::time_point copied{};       ///< its copy to a device is under way, and the batch can be had
};

}  // namespace penstock
