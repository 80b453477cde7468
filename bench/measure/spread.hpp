// Sums up what rounds of a measurement gave.
#pragma once

#include <vector>

namespace penstock {

/// Median and quartiles of what the rounds gave.
struct Spread {
  double median = 0, low = 0, high = 0;  ///< low and high: first and third quartile
};
Spread spread_of(std::vector<double> values);  ///< all zero for none

}  // namespace penstock
