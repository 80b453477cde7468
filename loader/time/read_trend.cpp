#include <algorithm>
#include <cmath>

#include <penstock/loader/time/figures.hpp>
#include <penstock/loader/time/read_trend.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFewReads = 16;
constexpr double kVaries = 0.1;  // deviation, as a share of the mean, below which bytes hardly vary

}  // namespace

double by_bytes(const ReadSpan& read) {
  return static_cast<double>(read.bytes);
}
double by_bytes_under_way(const ReadSpan& read) {
  return static_cast<double>(read.under_way);
}

std::optional<ReadTrend> trend_of(const std::vector<ReadSpan>& reads, double (*bytes_of)(const ReadSpan&)) {
  if (reads.size() < kFewReads) return std::nullopt;
  const auto count = static_cast<double>(reads.size());
  double x = 0, y = 0;
  for (const ReadSpan& read : reads) x += bytes_of(read) / count, y += seconds_of(read.took) / count;
  double xx = 0, xy = 0;
  for (const ReadSpan& read : reads) {
    xx += (bytes_of(read) - x) * (bytes_of(read) - x);
    xy += (bytes_of(read) - x) * (seconds_of(read.took) - y);
  }
  if (x <= 0 || y <= 0 || std::sqrt(xx / count) < kVaries * x) return std::nullopt;
  return ReadTrend{xy / xx, std::clamp(xy / xx * x / y, 0.0, 1.0)};
}

}  // namespace penstock
