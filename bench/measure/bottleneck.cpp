#include <algorithm>

#include <penstock/bench/measure/bottleneck.hpp>

namespace penstock {
namespace {

constexpr double kHardlyWaits = 5;  // percent of its time

}  // namespace

std::string bottleneck(const BenchRow& row) {
  if (row.waited_for.empty()) return "";
  if (row.stall_percent < kHardlyWaits) return std::string(kConsumer);
  return std::ranges::max_element(row.waited_for, {}, [](const auto& wait) { return wait.second; })->first;
}

}  // namespace penstock
