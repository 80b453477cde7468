// What went wrong so far: the list of bad samples, and the limit of how many an epoch may have.
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/loader/stats.hpp>

namespace penstock {

/// Counted at delivery, so in plan order: the batch at which the limit is passed does not depend on timing.
class Failures {
 public:
  Failures(double max_rate, std::uint64_t samples_per_epoch) : max_rate_(max_rate), samples_(samples_per_epoch) {}

  /// Records a delivered batch's bad samples. Throws Error: corrupt, when the epoch now has more than its share.
  void record(std::uint64_t epoch, std::vector<BadSample> bad, std::uint64_t other_failures);
  void report(Stats& stats) const;

 private:
  const double max_rate_;
  const std::uint64_t samples_;
  std::uint64_t epoch_ = 0, in_epoch_ = 0;
  std::uint64_t total_ = 0, other_ = 0;
  std::vector<BadSample> listed_;
};

}  // namespace penstock
