// Finds the rank that delays the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace penstock {

struct RankWait {
  std::uint64_t rank = 0;
  double data_wait = 0;  ///< share, 0 to 1, of the time in which the rank's training loop waited: Verdict::data_wait
};

struct SlowRank {
  std::optional<std::size_t> which;  ///< index of the rank among the arguments; nothing: no rank stands out
  std::string text;                  ///< one sentence
};

/// Ranks of one training take each step together. A rank with late batches waits for them in next(), and the other
/// ranks wait for that rank in their step. The slow rank is therefore the one that waits most for batches: at least 5
/// % of its time, and at least twice as much as half of the ranks do.
SlowRank slow_rank(std::span<const RankWait> ranks);

}  // namespace penstock
