// Tests the steps of windows against a plain search, for random groups, orders and gaps.
#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <formats/lists/number_table.hpp>
#include <order/windows/window_table.hpp>

namespace penstock::test::window_table_test {
namespace {

struct Drawn {
  std::vector<std::uint64_t> groups;
  std::vector<double> numbers;  // empty: none
  std::vector<bool> lacking;
  std::uint64_t group_count = 0;

  WindowSamples samples() const {
    WindowSamples samples{.count = groups.size(), .lacking = lacking};
    samples.group_count = group_count;
    samples.groups = std::make_unique<NumberTable>(groups.size(), group_count);
    for (std::size_t i = 0; i < groups.size(); ++i) samples.groups->set(i, groups[i]);
    if (numbers.empty()) return samples;
    samples.numbers = std::make_unique<NumberTable>(groups.size(), ~std::uint64_t{0});
    for (std::size_t i = 0; i < groups.size(); ++i) samples.numbers->set(i, std::bit_cast<std::uint64_t>(numbers[i]));
    return samples;
  }

  std::vector<std::uint64_t> steps_of(std::uint64_t group) const {
    std::vector<std::uint64_t> steps;
    for (std::uint64_t i = 0; i < groups.size(); ++i) {
      if (groups[i] == group && (lacking.empty() || !lacking[i])) steps.push_back(i);
    }
    if (!numbers.empty()) std::ranges::stable_sort(steps, {}, [&](std::uint64_t step) { return numbers[step]; });
    return steps;
  }

  // As docs/spec/windows.md says it.
  std::int64_t place(std::uint64_t sample, double offset, bool at) const {
    std::int64_t place = -1;
    for (const std::uint64_t step : steps_of(groups[sample])) {
      const double number = numbers.empty() ? 0 : numbers[step], own = numbers.empty() ? 0 : numbers[sample];
      const bool before = at ? number <= own + offset : number < own || (number == own && step <= sample);
      place += before ? 1 : 0;
    }
    return at ? place : place + static_cast<std::int64_t>(offset);
  }
};

Drawn drawn(std::mt19937_64& random, bool ordered, bool gaps) {
  Drawn drawn;
  const std::size_t samples = 1 + random() % 60;
  drawn.group_count = 1 + random() % 5;
  for (std::size_t i = 0; i < samples; ++i) {
    drawn.groups.push_back(random() % drawn.group_count);
    if (ordered) drawn.numbers.push_back(static_cast<double>(random() % 20) / 4 - 2);
    if (gaps) drawn.lacking.push_back(random() % 3 == 0);
  }
  return drawn;
}

}  // namespace

TEST_CASE("a table gives the steps that a search gives, and serves the samples that have them") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const bool at = round % 4 == 3, gaps = round % 3 == 0;
    const Drawn samples = drawn(random, at || round % 2 == 0, gaps);
    WindowSpec spec{.offsets = {-2, 0, 1, 5}, .group = {}, .edge = {}, .order_by = {}, .at = at ? "t" : ""};
    for (const Edge edge : {Edge::pad, Edge::drop}) {
      spec.edge = edge;
      const WindowTable table(spec, samples.samples());
      std::vector<WindowStep> steps;
      for (std::uint64_t sample = 0; sample < samples.groups.size(); ++sample) {
        const std::vector<std::uint64_t> group = samples.steps_of(samples.groups[sample]);
        const auto last = static_cast<std::int64_t>(group.size()) - 1;
        bool whole = !group.empty();
        for (const double offset : spec.offsets) {
          const std::int64_t place = samples.place(sample, offset, at);
          whole = whole && (edge == Edge::pad || (place >= 0 && place <= last));
        }
        CHECK(table.serves(sample) == whole);
        if (!whole) continue;
        table.steps(sample, steps);
        REQUIRE(steps.size() == spec.offsets.size());
        for (std::size_t i = 0; i < steps.size(); ++i) {
          const std::int64_t place = samples.place(sample, spec.offsets[i], at);
          CHECK(steps[i].inside == (place >= 0 && place <= last));
          CHECK(steps[i].sample == group[static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, last))]);
        }
      }
    }
  }
}

TEST_CASE("a table says how long its longest group is") {
  Drawn samples{.groups = {0, 1, 1, 0, 1}, .numbers = {}, .lacking = {}, .group_count = 2};
  const WindowSpec spec{.offsets = {0}, .group = {}, .edge = Edge::pad, .order_by = {}, .at = {}};
  CHECK(WindowTable(spec, samples.samples()).longest() == 3);
  samples.lacking = {false, true, true, false, true};
  const WindowTable table(spec, samples.samples());
  CHECK(table.longest() == 2);
  CHECK(table.groups() == 2);
  CHECK_FALSE(table.serves(1));
}

}  // namespace penstock::test::window_table_test
