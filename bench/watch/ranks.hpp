// Finds the ranks of one training among the loaders of a machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <bench/watch/top.hpp>
#include <record/watch/slow_rank.hpp>

namespace penstock {

struct Training {
  std::uint64_t world = 0;              ///< ranks of the training, on all machines
  std::vector<const LoaderUse*> ranks;  ///< those of this machine, at least two, ordered by rank
  SlowRank slow;                        ///< `which` is an index of `ranks`
  std::string text() const;             ///< compares the ranks, with the bottleneck of the slow one
};

/// Loaders with the same user, program, world size and age within their processes belong together. If two of them have
/// the same rank, they belong to several trainings, and are left out.
std::vector<Training> trainings_of(const std::vector<LoaderUse>& uses);

}  // namespace penstock
