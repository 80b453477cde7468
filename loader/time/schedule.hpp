// Says which steps of a training loop are recorded: a cycle of steps to wait for, to warm up in, and to record.
#pragma once

#include <cstdint>
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

}  // namespace penstock
