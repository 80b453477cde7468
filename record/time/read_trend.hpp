// Tells how the time of reads goes with what they carry, or with what is on its way besides.
#pragma once

#include <optional>
#include <vector>

#include <penstock/stats.hpp>
#include <penstock/store_counts.hpp>

namespace penstock {

/// A line of least squares through the times of reads, in seconds, over something in bytes.
struct ReadTrend {
  double slope = 0;  ///< seconds a byte
  double share = 0;  ///< of the mean time that goes with the bytes, 0 to 1
};

double by_bytes(const ReadSpan& read);
double by_bytes_under_way(const ReadSpan& read);

/// Nothing for a few reads, or where the bytes hardly vary, so that there is no telling.
std::optional<ReadTrend> trend_of(const std::vector<ReadSpan>& reads, double (*bytes_of)(const ReadSpan&));

/// The same of a store's requests: nothing, too, where none has been answered.
std::optional<ReadTrend> trend_of(const AnswerSums& answers);

}  // namespace penstock
