#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <base/amounts.hpp>
#include <base/printable.hpp>
#include <overview/overview.hpp>

namespace penstock::overview {
namespace {

constexpr double kVisible = 0.005;  // of the step: smaller categories are not printed

std::string milliseconds(double nanoseconds) {
  const double value = nanoseconds / 1e6;
  return text_of(value < 10 ? "%.1f" : "%.0f", value);
}

std::string share_text(const char* name, const std::optional<double>& share) {
  return std::string(name) + " " + (share ? percent_text(*share) : "not in this trace");
}

std::string step_line(const RankOverview& rank) {
  std::string line = "step " + milliseconds(rank.step()) + " ms";
  const auto count = static_cast<double>(rank.steps.steps.size());
  if (count > 1) line += " +-" + milliseconds(2 * rank.steps.standard_deviation() / std::sqrt(count));
  std::vector<Category> order;
  for (std::size_t i = 0; i < kCategories; ++i) order.push_back(static_cast<Category>(i));
  std::ranges::stable_sort(order, std::ranges::greater(), [&](Category category) { return rank.mean[category]; });
  bool first = true;
  for (const Category category : order) {
    if (rank.share(category) < kVisible) continue;
    line += " | " + std::string(name(category)) + " " + milliseconds(rank.mean[category]);
    if (first) line += " (" + percent_text(rank.share(category)) + ")";
    first = false;
  }
  if (rank.has_device()) line += " | GPU busy " + percent_text(rank.busy());
  return line + "\n";
}

std::string device_lines(const RankOverview& rank) {
  std::string text;
  for (std::size_t i = 0; i < rank.uses.size(); ++i) {
    const DeviceUse& use = rank.uses[i];
    text += "GPU " + std::to_string(use.device) + (rank.devices[i].name.empty() ? "" : " " + rank.devices[i].name) +
            ": busy " + percent_text(use.busy) + ", " + share_text("SM efficiency", use.sm_efficiency) + ", " +
            share_text("occupancy", use.occupancy) + ", " + share_text("tensor cores", use.tensor_cores) + "\n";
  }
  const auto main = std::ranges::max_element(rank.idle, {}, &StreamIdle::events);
  if (main != rank.idle.end() && main->idle() > 0) {
    text += text_of(
        "Idle, stream %d: waits for the host %s (in DataLoader %s), between kernels %s, other %s\n", main->stream,
        percent_text(main->host / main->idle()).c_str(), percent_text(main->host_in_loader / main->idle()).c_str(),
        percent_text(main->kernel / main->idle()).c_str(), percent_text(main->other / main->idle()).c_str());
  }
  return text;
}

std::string label(const RankOverview& rank) {
  return rank.rank ? "rank " + std::to_string(*rank.rank) : rank.path;
}

std::string rank_lines(const Overview& overview) {
  std::string text;
  for (std::size_t i = 0; i < overview.ranks.size(); ++i) {
    const RankOverview& rank = overview.ranks[i];
    text += label(rank) + ": " + step_line(rank);
  }
  const RankOverview& slowest = overview.ranks[overview.slowest];
  text += "The slowest is " + label(slowest) + ": without communication, its step takes " +
          percent_text(overview.spread) + " longer than that of the fastest.\n";
  return text;
}

}  // namespace

std::string to_text(const Overview& overview) {
  if (overview.ranks.empty() && overview.comparison) {
    const Comparison& found = *overview.comparison;
    return "before: " + one_line(found.before) + "\nafter:  " + one_line(found.after) + "\n" + to_text(found);
  }
  const RankOverview& rank = overview.ranks[overview.slowest];
  std::string text;
  for (const RankOverview& each : overview.ranks) {
    for (const std::string& note : each.notes)
      text += "Note: " + (overview.ranks.size() > 1 ? each.path + ": " : "") + note + "\n";
  }
  if (overview.comparison) {
    text += "before: " + step_line(overview.ranks[0]) + "after:  " + step_line(overview.ranks[1]);
    text += to_text(*overview.comparison) + "The second run:\n";
  } else {
    text += overview.ranks.size() > 1 ? rank_lines(overview) : step_line(rank);
  }
  text += device_lines(rank);
  text += "Why: " + overview.diagnosis.why + "\n";
  if (!overview.diagnosis.not_the_cause.empty()) text += "Not the cause: " + overview.diagnosis.not_the_cause + "\n";
  for (const std::string& remedy : overview.diagnosis.remedies) text += "Do:  " + remedy + "\n";
  return text;
}

}  // namespace penstock::overview
