// Says what binds a loader: why its consumer waits, or that it does not.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <penstock/record/time/stats.hpp>

namespace penstock {

/// What would have to get better for batches to come faster.
enum class Binds : std::uint8_t {
  unknown,            ///< it cannot be told from these figures: the text says why
  start_up,           ///< too few samples for what comes before the first batch
  nothing,            ///< the consumer is fed, and the loader has less than twice the work it could do
  consumer,           ///< the consumer is fed, and the loader could give twice as much and more
  plan,               ///< naming rows and asking for their bytes, in one thread
  storage_bandwidth,  ///< reads take longer, the more bytes are on their way
  storage_latency,    ///< reads take their time, however many bytes are on their way
  files,              ///< opening files, of which there are too many
  cores,              ///< the workers' time: of which stage and output, stands beside it
  prefetch,           ///< too few batches ahead for samples that take very unequal time
  memory,             ///< the read window
  own_step,           ///< the program's own step on batches, in one thread
  copy,               ///< copies to the device
};
std::string_view name(Binds binds);  ///< "storage bandwidth"

/// From service times, queue levels and the attribution of waits, of a second of running or more.
struct Verdict {
  Binds binds = Binds::unknown;
  std::string stage;   ///< that the consumer waits for, as in Stats::stages; empty where it does not, or for several
  std::string output;  ///< that takes the workers most time, for cores and prefetch; else empty
  double waited = 0;   ///< share of the consumer's time, 0 to 1, in which it waited
  std::string text;    ///< one sentence for a person, with the numbers that it follows from
};

/// The times of a training loop over any loader.
struct LoopTimes {
  std::uint64_t batches = 0;
  std::chrono::nanoseconds first_batch{};  ///< from the beginning of the first epoch
  std::chrono::nanoseconds longest{};      ///< wait for one batch
  std::chrono::nanoseconds wall{};
};
/// Why the loop did not run long enough for a verdict. Nothing where it did.
std::optional<std::string> too_short(const LoopTimes& loop);

/// `stats`: of one loader, or sums of several with the same options.
Verdict verdict_of(const Stats& stats);

}  // namespace penstock
