// Tests which rank is said to hold the others up.
#include <initializer_list>
#include <vector>

#include <doctest/doctest.h>

#include <record/watch/slow_rank.hpp>

namespace penstock::test::slow_rank_test {

TEST_CASE("the slow rank is the one that waits for batches, while the others wait for it") {
  const auto said = [](std::initializer_list<double> waits) {
    std::vector<RankWait> ranks;
    for (const double waited : waits) ranks.push_back({.rank = ranks.size() + 4, .data_wait = waited});
    return slow_rank(ranks);
  };
  const SlowRank third = said({0.01, 0.02, 0.31, 0.02});
  REQUIRE(third.which);
  CHECK(*third.which == 2);
  CHECK(third.text == "rank 6 is the slow one: it waited 31 % of its time, half of the ranks 2 % or less");
  CHECK(said({0.3, 0.0}).which == 0);
  CHECK_FALSE(said({0.01, 0.04}).which);
  CHECK(said({0.01, 0.04}).text == "no rank is slow: each waited at most 4 % of its time");
  CHECK_FALSE(said({0.3, 0.25, 0.28}).which);
  CHECK(said({0.3, 0.25, 0.28}).text.starts_with("no rank stands out"));
  CHECK_FALSE(said({0.9}).which);
  CHECK_FALSE(said({}).which);
}

}  // namespace penstock::test::slow_rank_test
