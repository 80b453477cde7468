#include <algorithm>
#include <map>
#include <tuple>

#include <bench/watch/ranks.hpp>

namespace penstock {
namespace {

std::uint64_t rank_of(const LoaderUse* use) {
  return use->loader->view.figures.rank;
}

}  // namespace

std::string Training::text() const {
  return slow.which ? slow.text + "; " + binds_text(ranks[*slow.which]->loader->view.figures) : slow.text;
}

std::vector<Training> trainings_of(const std::vector<LoaderUse>& uses) {
  std::map<std::tuple<uid_t, std::string, std::uint64_t, std::uint64_t>, Training> found;
  for (const LoaderUse& use : uses) {
    const LiveView& view = use.loader->view;
    const std::uint64_t world = view.figures.world;
    if (world < 2) continue;
    Training& training = found[{use.loader->user, use.loader->program, world, view.page.number}];
    training.world = world;
    training.ranks.push_back(&use);
  }
  std::vector<Training> trainings;
  for (auto& [key, training] : found) {
    std::ranges::sort(training.ranks, {}, rank_of);
    const bool twice = std::ranges::adjacent_find(training.ranks, {}, rank_of) != training.ranks.end();
    if (twice || training.ranks.size() < 2) continue;
    std::vector<RankWait> waits;
    for (const LoaderUse* use : training.ranks) waits.push_back({.rank = rank_of(use), .data_wait = use->data_wait});
    training.slow = slow_rank(waits);
    trainings.push_back(std::move(training));
  }
  return trainings;
}

}  // namespace penstock
