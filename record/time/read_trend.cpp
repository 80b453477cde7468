#include <algorithm>
#include <cmath>

#include <base/amounts.hpp>
#include <record/time/read_trend.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFewReads = 16;
constexpr double kVaries = 0.1;  // standard deviation, as a share of the mean, below which bytes count as constant

// `x` and `y` are means, `xx` is the variance of x, and `xy` the covariance.
std::optional<ReadTrend> line_through(double x, double y, double xx, double xy) {
  if (x <= 0 || y <= 0 || std::sqrt(std::max(0.0, xx)) < kVaries * x) return std::nullopt;
  return ReadTrend{xy / xx, std::clamp(xy / xx * x / y, 0.0, 1.0)};
}

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
  return line_through(x, y, xx / count, xy / count);
}

std::optional<ReadTrend> trend_of(const AnswerSums& answers) {
  if (answers.count < kFewReads) return std::nullopt;
  const auto count = static_cast<double>(answers.count);
  const double x = answers.bytes / count, y = answers.seconds / count;
  return line_through(x, y, answers.bytes_bytes / count - x * x, answers.bytes_seconds / count - x * y);
}

}  // namespace penstock
