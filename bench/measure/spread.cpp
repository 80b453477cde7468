#include <algorithm>
#include <cstddef>

#include <bench/measure/spread.hpp>

namespace penstock {
namespace {

double at_share(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {at_share(values, 0.5), at_share(values, 0.25), at_share(values, 0.75)};
}

}  // namespace penstock
