// A row of a batch in a plan, and the limit of positions.
#pragma once

#include <cstdint>

namespace penstock {

/// Limit for the positions of an epoch with draws, of a mixture's epoch, and of a mixture's whole schedule. The
/// products computed from them then fit into their types.
inline constexpr std::uint64_t kLongestOrder = std::uint64_t{1} << 48;

struct Row {
  std::uint64_t sample;          ///< number in the dataset (or in the list of included samples)
  std::uint64_t position;        ///< in the epoch's order; for a repeat, the position of its sample
  bool valid;                    ///< false for a repeat that pads
  std::uint32_t occurrence = 0;  ///< how many times the sample comes earlier in the epoch's order
  friend bool operator==(const Row&, const Row&) = default;
};

}  // namespace penstock
