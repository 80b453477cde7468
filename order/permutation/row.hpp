// A row of a batch, as a plan names it, and how far its positions go.
#pragma once

#include <cstdint>

namespace penstock {

/// Positions of an epoch of draws or of a mixture, and of a mixture's whole schedule: what is computed of them fits.
inline constexpr std::uint64_t kLongestOrder = std::uint64_t{1} << 48;

struct Row {
  std::uint64_t sample;          ///< number in the dataset (or in the list of included samples)
  std::uint64_t position;        ///< in the epoch's order; of a repeat, where its sample stands there
  bool valid;                    ///< false for a repeat that pads
  std::uint32_t occurrence = 0;  ///< how often the epoch's order has the sample before
  friend bool operator==(const Row&, const Row&) = default;
};

}  // namespace penstock
