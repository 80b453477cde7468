// Tests the shares of the categories of a step.
#include <doctest/doctest.h>

#include <record/watch/figures.hpp>

namespace penstock::test::figures_test {

TEST_CASE("the shares of a step are those of its categories, without empty ones") {
  using Shares = std::vector<std::pair<std::string_view, double>>;
  CHECK(step_shares({}).empty());
  CHECK(step_shares({.load = 3, .copy = 0, .compute = 4, .optimizer = 0, .other = 1}) ==
        Shares{{"load", 0.375}, {"compute", 0.5}, {"other", 0.125}});
  CHECK(step_shares({.load = 0, .copy = 1, .compute = 0, .optimizer = 1, .other = 0}) ==
        Shares{{"copy", 0.5}, {"optimizer", 0.5}});
}

}  // namespace penstock::test::figures_test
