// What a step of a training loop took, in the words of profilers.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace penstock {

/// From the end of the step before to its own end: at Loader::mark_step() or, where the program does not call that, at
/// the next call of next(). The parts add up to it.
struct StepTime {
  std::chrono::nanoseconds read{}, decode{}, transform{};  ///< the consumer waited for these: DataLoader
  std::chrono::nanoseconds own_step{};                     ///< and for on_batch
  std::chrono::nanoseconds wait{};                         ///< and for the rest: the plan, and the handing over
  std::chrono::nanoseconds memcpy{};                       ///< and for copies to the device
  std::chrono::nanoseconds compute{};                      ///< the program, with a batch, until the step ends
  std::chrono::nanoseconds other{};  ///< the program outside of steps: between two, and between epochs
  std::uint64_t batches = 0;

  std::chrono::nanoseconds data_loader() const { return read + decode + transform + own_step + wait; }
  std::chrono::nanoseconds all() const { return data_loader() + memcpy + compute + other; }
  StepTime& operator+=(const StepTime& step);
};

struct Steps {
  std::uint64_t first = 0;     ///< the number of the first one in `last`; they count from 0
  std::vector<StepTime> last;  ///< a few thousand at most
  StepTime sum;                ///< of all, since the loader was made, or reset_stats()
};

}  // namespace penstock
