// Summarises the rounds of a measurement.
#pragma once

#include <vector>

namespace penstock {

/// Median and quartiles over the rounds.
struct Spread {
  double median = 0, low = 0, high = 0;  ///< low and high: first and third quartile
};
Spread spread_of(std::vector<double> values);  ///< all zero if `values` is empty

}  // namespace penstock
