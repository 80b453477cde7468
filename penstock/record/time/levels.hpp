// How full the queues of a loader are at one moment.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace penstock {

/// Looked at when next() is called.
struct Levels {
  std::chrono::steady_clock::time_point at{};
  std::size_t ready = 0;       ///< batches that are finished, behind the last stage
  std::size_t free_slabs = 0;  ///< of the host
  std::size_t tasks = 0;       ///< groups of rows that wait for a worker
  std::uint64_t reading = 0;   ///< bytes on their way
};

}  // namespace penstock
