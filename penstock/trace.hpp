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

/// As torch.profiler.schedule: behind the first `skip_first` steps come cycles of `wait`, `warmup` and `active` steps.
struct Schedule {
  enum class Phase : std::uint8_t { wait, warmup, active };

  std::uint64_t wait = 0, warmup = 0;
  std::uint64_t active = 1;  ///< recorded
  std::uint64_t repeat = 0;  ///< cycles; 0: without end
  std::uint64_t skip_first = 0;

  /// Throws Error: invalid_argument, where no step would ever be recorded.
  void check() const;
  Phase of(std::uint64_t step) const;  ///< steps count from 0
};

std::string_view name(Schedule::Phase phase);

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
