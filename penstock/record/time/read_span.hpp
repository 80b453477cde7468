// One read, as the loader sees it.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

/// Of one request to an engine or, where a worker reads itself, of those of one row.
struct ReadSpan {
  std::chrono::steady_clock::time_point begin{};
  std::chrono::nanoseconds took{};
  std::uint64_t bytes = 0;
  std::uint64_t under_way = 0;  ///< bytes, with its own, when it began
};

}  // namespace penstock
