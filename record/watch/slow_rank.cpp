#include <algorithm>
#include <cmath>
#include <vector>

#include <record/watch/slow_rank.hpp>

namespace penstock {
namespace {

constexpr double kWaits = 0.05;   // share of a rank's time from which on it waits for data
constexpr double kStandsOut = 2;  // factor over the waits of half of the ranks

std::string whole_percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

}  // namespace

SlowRank slow_rank(std::span<const RankWait> ranks) {
  if (ranks.size() < 2) return {.which = {}, .text = "a single rank cannot be compared"};
  const auto most = std::ranges::max_element(ranks, {}, &RankWait::data_wait);
  std::vector<double> waits;
  for (const RankWait& rank : ranks) waits.push_back(rank.data_wait);
  std::ranges::sort(waits);
  const double half = waits[(waits.size() - 1) / 2];
  const std::string at_most = "at most " + whole_percent(most->data_wait) + " of its time";
  if (most->data_wait < kWaits) return {.which = {}, .text = "no rank is slow: each waited " + at_most};
  if (most->data_wait < kStandsOut * half)
    return {.which = {},
            .text = "no rank stands out: half of them waited " + whole_percent(half) +
                    " of their time or less, and each " + at_most};
  return {.which = static_cast<std::size_t>(most - ranks.begin()),
          .text = "rank " + std::to_string(most->rank) + " is the slow one: it waited " +
                  whole_percent(most->data_wait) + " of its time, half of the ranks " + whole_percent(half) +
                  " or less"};
}

}  // namespace penstock
