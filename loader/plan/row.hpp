// A row of a batch, as a plan names it.
#pragma once

#include <cstdint>

namespace penstock {

struct Row {
  std::uint64_t sample;          ///< number in the dataset (or in the list of included samples)
  std::uint64_t position;        ///< in the epoch's order; of a repeat, where its sample stands there
  bool valid;                    ///< false for a repeat that pads
  std::uint32_t occurrence = 0;  ///< how often the epoch's order has the sample before
  friend bool operator==(const Row&, const Row&) = default;
};

}  // namespace penstock
