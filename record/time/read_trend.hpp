// Determines how the time of reads depends on their bytes, or on other bytes in flight.
#pragma once

#include <optional>
#include <vector>

#include <penstock/stats.hpp>
#include <penstock/store_counts.hpp>

namespace penstock {

/// A least-squares line of the times of reads, in seconds, over a number of bytes.
struct ReadTrend {
  double slope = 0;  ///< seconds per byte
  double share = 0;  ///< share of the mean time that depends on the bytes, 0 to 1
};

double by_bytes(const ReadSpan& read);
double by_bytes_under_way(const ReadSpan& read);

/// Returns nothing if there are few reads, or if the bytes hardly vary, because then no dependence can be measured.
std::optional<ReadTrend> trend_of(const std::vector<ReadSpan>& reads, double (*bytes_of)(const ReadSpan&));

/// The same for a store's requests. Also returns nothing if no request has been answered.
std::optional<ReadTrend> trend_of(const AnswerSums& answers);

}  // namespace penstock
