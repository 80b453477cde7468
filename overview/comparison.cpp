#include <cmath>
#include <string>

#include <overview/overview.hpp>

namespace penstock::overview {
namespace {

constexpr double kSecond = 1e9;  // nanoseconds

/// Two standard errors of the mean of a step's parts. Nothing for a single step.
template <typename Part>
std::optional<double> plus_minus(const std::vector<Step>& steps, double mean, const Part& part) {
  if (steps.size() < 2) return std::nullopt;
  double squares = 0;
  for (const Step& step : steps) squares += std::pow(part(step) - mean, 2);
  const auto count = static_cast<double>(steps.size());
  return 2 * std::sqrt(squares / (count - 1) / count) / kSecond;
}

Report report_of(const RankOverview& run) {
  const std::vector<Step>& steps = run.steps.steps;
  const auto length = [](const Step& step) { return static_cast<double>(step.range.length()); };
  FigureTable categories{.name = "Categories", .figures = {}};
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto time = [i](const Step& step) { return step.times.of[i]; };
    categories.figures.push_back({std::string(name(static_cast<Category>(i))), "s", run.mean.of[i] / kSecond,
                                  plus_minus(steps, run.mean.of[i], time)});
  }
  FigureTable operators{.name = "Operators", .figures = {}, .ranked = true};
  for (const OperatorTimes& op : run.operators)
    operators.figures.push_back(
        {op.name, "s", (op.host_self + op.device_self) / static_cast<double>(steps.size()) / kSecond});
  const FigureTable step{.name = "Step",
                         .figures = {{"step", "s", run.step() / kSecond, plus_minus(steps, run.step(), length)}}};
  return {.path = run.path, .facts = {}, .tables = {step, categories, operators}};
}

}  // namespace

Comparison compare(const RankOverview& before, const RankOverview& after) {
  return compare(report_of(before), report_of(after));
}

}  // namespace penstock::overview
