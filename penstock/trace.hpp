// The options and the summary of a trace.
//
//   penstock::Loader loader(penstock::open("photos"));
//   loader.trace("trace.json", {.max_events = 100'000});
//   while (loader.next()) {
//   }
//   std::cout << loader.end_trace().events << " events\n";
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace penstock {

/// The steps to record, as with torch.profiler.schedule: after the first `skip_first` steps come cycles of `wait`,
/// `warmup` and `active` steps.
struct Schedule {
  enum class Phase : std::uint8_t { wait, warmup, active };

  std::uint64_t wait = 0, warmup = 0;
  std::uint64_t active = 1;  ///< number of recorded steps
  std::uint64_t repeat = 0;  ///< number of cycles; 0: unlimited
  std::uint64_t skip_first = 0;

  /// Throws Error: invalid_argument, if no step would ever be recorded.
  void check() const;
  Phase of(std::uint64_t step) const;  ///< steps count from 0
};

std::string_view name(Schedule::Phase phase);

/// The options of Loader::trace().
struct TraceOptions {
  /// Limit of recorded samples, groups of rows, reads, batches and queue samples, of up to 72 bytes each. Later ones
  /// are dropped and counted.
  std::uint64_t max_events = 200'000;
  std::optional<Schedule> schedule = {};  ///< records only its active steps; unset: all steps
};

/// The result of Loader::end_trace().
struct TraceSummary {
  std::filesystem::path file;
  std::uint64_t events = 0;   ///< recorded
  std::uint64_t dropped = 0;  ///< dropped for lack of room
};

}  // namespace penstock
