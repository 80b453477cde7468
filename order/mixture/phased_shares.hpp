// The positions of a mixture's epoch if the weights change within it: each phase divides its own positions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <order/mixture/shares.hpp>

namespace penstock {

/// Positions and indices count from the epoch's beginning. Used by one thread at a time.
class PhasedShares {
 public:
  struct Part {
    std::uint64_t begin;   ///< first position of the epoch that belongs to the phase
    std::uint64_t origin;  ///< the same position, counted in the phase
    Shares shares;
    std::vector<std::uint64_t> skipped = {};  ///< by source: positions in the phase before `origin`
    std::vector<std::uint64_t> before = {};   ///< by source: positions in the epoch before `begin`
  };

  /// `parts` in rising order, the first one from position 0 on.
  explicit PhasedShares(std::vector<Part> parts) : parts_(std::move(parts)) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      part.skipped = part.shares.counts_before(part.origin);
      part.before = i == 0 ? std::vector<std::uint64_t>(part.skipped.size(), 0) : counts(parts_[i - 1], part.begin);
    }
  }

  SharePlace at(std::uint64_t position) {
    Part& part = parts_[number_of(position)];
    SharePlace place = part.shares.at(position - part.begin + part.origin);
    place.index = place.index - part.skipped[place.source] + part.before[place.source];
    return place;
  }
  /// The source must have more than `index` positions in the epoch.
  std::uint64_t position_of(std::uint32_t source, std::uint64_t index) {
    std::size_t i = parts_.size() - 1;
    while (parts_[i].before[source] > index) --i;
    Part& part = parts_[i];
    const std::uint64_t in_phase = part.shares.position_of(source, index - part.before[source] + part.skipped[source]);
    return in_phase - part.origin + part.begin;
  }
  std::vector<std::uint64_t> counts_before(std::uint64_t end) const { return counts(parts_[number_of(end)], end); }

 private:
  std::size_t number_of(std::uint64_t position) const {
    const auto behind = std::ranges::upper_bound(parts_, position, {}, &Part::begin);
    return static_cast<std::size_t>(behind - parts_.begin()) - 1;
  }
  static std::vector<std::uint64_t> counts(const Part& part, std::uint64_t end) {
    std::vector<std::uint64_t> counts = part.shares.counts_before(end - part.begin + part.origin);
    for (std::size_t s = 0; s < counts.size(); ++s) counts[s] += part.before[s] - part.skipped[s];
    return counts;
  }

  std::vector<Part> parts_;
};

}  // namespace penstock
