#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <overview/overview.hpp>

namespace penstock::overview {
namespace {

constexpr std::size_t kMostOperators = 8;

double variance_of_mean(const RankOverview& run) {
  return std::pow(run.steps.standard_deviation(), 2) / static_cast<double>(run.steps.steps.size());
}

std::map<std::string, double> operator_times(const RankOverview& run) {
  std::map<std::string, double> times;
  for (const OperatorTimes& op : run.operators)
    times[op.name] = (op.host_self + op.device_self) / static_cast<double>(run.steps.steps.size());
  return times;
}

}  // namespace

Comparison compare(const RankOverview& before, const RankOverview& after) {
  Comparison out;
  out.change = after.step() - before.step();
  out.noise = 2 * std::sqrt(variance_of_mean(before) + variance_of_mean(after));
  for (std::size_t i = 0; i < kCategories; ++i) out.categories.of[i] = after.mean.of[i] - before.mean.of[i];
  std::map<std::string, Comparison::Operator> operators;
  for (const auto& [name, time] : operator_times(before)) operators[name].before = time;
  for (const auto& [name, time] : operator_times(after)) operators[name].after = time;
  for (auto& [name, op] : operators) {
    op.name = name;
    out.operators.push_back(std::move(op));
  }
  std::ranges::stable_sort(out.operators, std::ranges::greater(),
                           [](const Comparison::Operator& op) { return std::abs(op.after - op.before); });
  out.operators.resize(std::min(out.operators.size(), kMostOperators));
  return out;
}

}  // namespace penstock::overview
