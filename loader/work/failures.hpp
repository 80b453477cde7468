// Keeps the list of invalid samples and enforces the limit per epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <order/position.hpp>
#include <penstock/stats.hpp>

namespace penstock {

/// The samples that a limit applies to: all samples of an epoch, or those of one source of a mixture.
struct FailureShare {
  std::string source = {};         ///< its name; empty: all
  std::uint64_t first_sample = 0;  ///< its samples have numbers from this one to the next share's
  std::uint64_t samples = 0;       ///< in an epoch, over all ranks
};

/// Limit for invalid samples in an epoch.
struct FailureLimit {
  double rate = 1;                          ///< fraction of the samples that the limit applies to
  std::optional<std::uint64_t> count = {};  ///< used instead of the rate
};

/// Counts at delivery, by position in the epoch's order. The batch that exceeds the limit therefore does not depend
/// on timing, and is the same when batches are delivered again (set_epoch, restore).
class Failures {
 public:
  /// `shares`: at least one, in rising order of numbers.
  Failures(FailureLimit limit, std::vector<FailureShare> shares, std::uint32_t ranks);

  /// Records the invalid samples of a batch of `order`'s epoch.
  void record(const Position& order, std::vector<BadSample> bad, std::uint64_t other_failures);
  /// Returns how many invalid samples of that epoch this loader has met below a position.
  std::uint64_t before(std::uint64_t position) const;
  /// Throws Error: corrupt, if a share has more invalid samples below a position than this rank's part of the share
  /// allows.
  void require_within_share(std::uint64_t position) const;
  /// Throws likewise if `bad`, the sum over all ranks, exceeds the limit for all samples.
  void require_within_all(std::uint64_t bad) const;
  void report(Stats& stats) const;
  /// Resets the counts and the list of report(). The limits keep counting the invalid samples of the epoch.
  void reset_report();

 private:
  struct Counted {
    FailureShare share;
    std::vector<std::uint64_t> positions;  // in the epoch's order, ascending
    std::string last;                      // cause of the last failure
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
  std::string last_;  // cause of the last failure in any share
};

}  // namespace penstock
