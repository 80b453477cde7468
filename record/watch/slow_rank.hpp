// Says which of several ranks holds the others up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace penstock {

struct RankWait {
  std::uint64_t rank = 0;
  double data_wait = 0;  ///< share, 0 to 1, of its time in which the rank's training loop waited: Verdict::data_wait
};

struct SlowRank {
  std::optional<std::size_t> which;  ///< position among those given; nothing: none stands out
  std::string text;                  ///< one sentence
};

/// Ranks of one training take each step together, so that a rank whose batches come late waits for them in next(), and
/// the others wait for that rank in their step. So the slow one is the one that waits for batches most: for 5 % of its
/// time or more, and twice as much as half of the ranks do.
SlowRank slow_rank(std::span<const RankWait> ranks);

}  // namespace penstock
