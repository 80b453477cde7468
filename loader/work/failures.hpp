// Keeps the list of bad samples, and enforces the limit of how many an epoch may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <order/position.hpp>
#include <penstock/stats.hpp>

namespace penstock {

/// Samples that a limit is of: all that an epoch delivers, or those of one source of a mixture.
struct FailureShare {
  std::string source = {};         ///< its name; empty: all
  std::uint64_t first_sample = 0;  ///< numbers from here on, until the next one's
  std::uint64_t samples = 0;       ///< that an epoch has of them, over all ranks
};

/// How many samples of an epoch may be bad.
struct FailureLimit {
  double rate = 1;                          ///< of the samples that the limit is of
  std::optional<std::uint64_t> count = {};  ///< in place of the rate
};

/// Counted at delivery, by position in the epoch's order: the batch at which the limit is passed does not depend on
/// timing, and is the same where batches are delivered again (set_epoch, restore).
class Failures {
 public:
  /// `shares`: at least one, by rising numbers.
  Failures(FailureLimit limit, std::vector<FailureShare> shares, std::uint32_t ranks);

  /// Records the bad samples of a batch of `order`'s epoch.
  void record(const Position& order, std::vector<BadSample> bad, std::uint64_t other_failures);
  /// Bad samples of that epoch below a position, as far as this loader met them.
  std::uint64_t before(std::uint64_t position) const;
  /// Throws Error: corrupt, when of the samples of one share more are bad below a position than this rank's part of it
  /// may be.
  void require_within_share(std::uint64_t position) const;
  /// The same, when `bad` are more than all ranks together may have of all samples.
  void require_within_all(std::uint64_t bad) const;
  void report(Stats& stats) const;
  /// Sets the counts and the list of report() to zero. The limits keep counting the bad samples of the epoch.
  void reset_report();

 private:
  struct Counted {
    FailureShare share;
    std::vector<std::uint64_t> positions;  // in the epoch's order, rising
    std::string last;                      // cause of the last one
    std::uint64_t before(std::uint64_t position) const;
  };
  Counted& counted_of(std::uint64_t sample);
  void require(std::uint64_t bad, std::uint64_t samples, const std::string& whose, const std::string& last) const;

  const FailureLimit limit_;
  const std::uint32_t ranks_;
  Position order_;                // of the epoch
  std::vector<Counted> counted_;  // of each share
  std::uint64_t total_ = 0, other_ = 0;
  std::vector<BadSample> listed_;
  std::string last_;  // cause of the last one of all
};

}  // namespace penstock
