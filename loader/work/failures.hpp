// Keeps the list of bad samples, and enforces the limit of how many an epoch may have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <penstock/loader/plan/position.hpp>
#include <penstock/loader/time/stats.hpp>

namespace penstock {

/// Counted at delivery, by position in the epoch's order: the batch at which the limit is passed does not depend on
/// timing, and is the same where batches are delivered again (set_epoch, restore).
class Failures {
 public:
  /// `samples`: of an epoch, for all of `ranks`.
  Failures(double max_rate, std::uint64_t samples, std::uint32_t ranks)
      : max_rate_(max_rate), samples_(samples), ranks_(ranks) {}

  /// Records the bad samples of a batch of `order`'s epoch.
  void record(const Position& order, std::vector<BadSample> bad, std::uint64_t other_failures);
  /// Bad samples of that epoch below a position, as far as this loader met them.
  std::uint64_t before(std::uint64_t position) const;
  /// Throws Error: corrupt, when so many are more than this rank's share may be, or than all ranks together may have.
  void require_within_share(std::uint64_t bad) const;
  void require_within_all(std::uint64_t bad) const;
  void report(Stats& stats) const;

 private:
  void require(std::uint64_t bad, std::uint64_t samples, const char* whose) const;

  const double max_rate_;
  const std::uint64_t samples_;
  const std::uint32_t ranks_;
  Position order_;                      // of the epoch
  std::vector<std::uint64_t> counted_;  // positions in it, in rising order
  std::uint64_t total_ = 0, other_ = 0;
  std::vector<BadSample> listed_;
  std::string last_;  // cause of the last one
};

}  // namespace penstock
