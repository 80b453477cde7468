// What a user says of a trace, and is told of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <penstock/loader/time/schedule.hpp>

namespace penstock {

struct TraceOptions {
  /// Samples, groups of rows, reads, batches and looks at the queues that are kept, of up to 72 bytes each. Later ones
  /// are left out and counted.
  std::uint64_t max_events = 200'000;
  std::optional<Schedule> schedule = {};  ///< records only in its active steps; nothing: all the time
};

struct TraceSummary {
  std::filesystem::path file;
  std::uint64_t events = 0;   ///< kept
  std::uint64_t dropped = 0;  ///< left out, because there was no room for them
};

}  // namespace penstock
