// Tests how the positions of an epoch are divided among the sources of a mixture, and what of that each rank gets.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <order/mixture/drawn_shares.hpp>
#include <order/mixture/phased_shares.hpp>
#include <order/mixture/rank_deal.hpp>
#include <order/mixture/shares.hpp>

namespace penstock::test::shares_test {
namespace {

using Counts = std::vector<std::uint64_t>;

double part(const Counts& weights, std::size_t source) {
  double all = 0;
  for (const std::uint64_t weight : weights) all += static_cast<double>(weight);
  return static_cast<double>(weights[source]) / all;
}

Counts drawn_weights(std::mt19937_64& random, std::size_t sources) {
  Counts weights(sources);
  const std::uint64_t kind = random() % 4;
  for (std::uint64_t& weight : weights) {
    if (kind == 0) weight = 1 + random() % 10;
    if (kind == 1) weight = 1 + random() % 1'000'000;
    if (kind == 2) weight = (std::uint64_t{1} << 32) / sources;
    if (kind == 3) weight = 1 + random() % (std::uint64_t{1} << 29);
  }
  return weights;
}

// Weights of 1, 1, 2, 3, 5, ... make the deepest tree, one of nearly nothing beside equal ones the largest error.
std::vector<Counts> trying_weights() {
  std::mt19937_64 random(5);
  std::vector<Counts> all{{7}, {0, 3}, {1, 1}, {1, 1'000'000}, {1, 1, 2, 3, 5, 8, 13, 21, 34}, {4, 0, 0, 9, 1}};
  all.push_back({1, 1 << 20, 1 << 20, 1 << 21});
  for (std::size_t trial = 0; trial < 60; ++trial) all.push_back(drawn_weights(random, 1 + trial % 8));
  return all;
}

}  // namespace

TEST_CASE("the first n positions hold two sources within one of their weights, more within two") {
  std::mt19937_64 random(1);
  for (const Counts& weights : trying_weights()) {
    CAPTURE(weights.size());
    const ShareTree tree(weights);
    const std::uint64_t length = 1 + random() % 3000;
    Shares shares(tree, length, random(), random());
    const double most = weights.size() <= 2 ? 1 : 2;
    Counts counts(weights.size(), 0);
    for (std::uint64_t position = 0; position < length; ++position) {
      REQUIRE(shares.counts_before(position) == counts);
      const SharePlace place = shares.at(position);
      REQUIRE(place.index == counts[place.source]++);
      REQUIRE(shares.position_of(place.source, place.index) == position);
      for (std::size_t s = 0; s < counts.size(); ++s) {
        const double exact = part(weights, s) * static_cast<double>(position + 1);
        REQUIRE(std::abs(static_cast<double>(counts[s]) - exact) <= most);
      }
    }
    CHECK(counts == tree.counts_of(length));
    CHECK(counts == shares.counts_before(length));
  }
}

TEST_CASE("counts of an epoch do not depend on keys, and none shrinks where it grows") {
  for (const Counts& weights : trying_weights()) {
    const ShareTree tree(weights);
    Counts before(weights.size(), 0);
    for (std::uint64_t length = 1; length < 500; ++length) {
      const Counts counts = tree.counts_of(length);
      std::uint64_t more = 0;
      for (std::size_t s = 0; s < counts.size(); ++s) {
        REQUIRE(counts[s] >= before[s]);
        more += counts[s] - before[s];
      }
      REQUIRE(more == 1);
      before = counts;
    }
  }
}

TEST_CASE("positions far out are found as near ones are") {
  const Counts weights{3'000'000'000, 1'000'000'000, 294'967'296};
  const ShareTree tree(weights);
  const std::uint64_t length = std::uint64_t{1} << 50;
  Shares shares(tree, length, 1, 2);
  for (std::uint64_t position = length - 1000; position < length; ++position) {
    const SharePlace place = shares.at(position);
    CHECK(shares.position_of(place.source, place.index) == position);
    CHECK(shares.counts_before(position)[place.source] == place.index);
  }
}

TEST_CASE("a position is the same whatever was asked for before") {
  std::mt19937_64 random(6);
  for (const Counts& weights : trying_weights()) {
    const ShareTree tree(weights);
    const std::uint64_t length = 200 + random() % 3000, seed = random();
    Shares asked(tree, length, seed, 3);
    for (int i = 0; i < 300; ++i) {
      std::uint64_t position = random() % length;
      for (std::uint64_t run = random() % 9; run-- > 0 && position < length; ++position) {
        Shares fresh(tree, length, seed, 3), backwards(tree, length, seed, 3);
        const SharePlace place = fresh.at(position);
        REQUIRE(asked.at(position) == place);
        REQUIRE(backwards.position_of(place.source, place.index) == position);
        if (run % 2 == 0) REQUIRE(asked.position_of(place.source, place.index) == position);
      }
    }
  }
}

TEST_CASE("two epochs, and two seeds, place the sources differently") {
  const Counts weights{1, 1};
  const ShareTree tree(weights);
  const auto sources = [&](std::uint64_t seed, std::uint64_t epoch) {
    Shares shares(tree, 64, seed, epoch);
    std::vector<std::uint32_t> list;
    for (std::uint64_t position = 0; position < 64; ++position) list.push_back(shares.at(position).source);
    return list;
  };
  CHECK(sources(1, 1) != sources(1, 2));
  CHECK(sources(1, 1) != sources(2, 1));
  CHECK(sources(1, 1) == sources(1, 1));
}

TEST_CASE("a step is dealt as a whole, and each rank has its share of every source") {
  std::mt19937_64 random(3);
  constexpr std::uint64_t kSteps = 600, kStart = 5;
  for (int trial = 0; trial < 24; ++trial) {
    const std::size_t sources = trial % 2 == 0 ? 2 : 3 + random() % 4;
    const Counts weights = trial < 2 ? Counts(sources, 1) : drawn_weights(random, sources);
    const std::uint32_t rows = std::array<std::uint32_t, 5>{1, 2, 4, 8, 32}[random() % 5];
    const std::uint32_t world = std::array<std::uint32_t, 3>{2, 3, 8}[random() % 3];
    CAPTURE(sources);
    CAPTURE(rows);
    CAPTURE(world);
    const ShareTree tree(weights);
    std::vector<PhasedShares::Part> parts;
    parts.push_back({.begin = 0, .origin = 0, .shares = Shares(tree, kStart + kSteps * rows * world, random(), 0)});
    PhasedShares shares(std::move(parts));
    std::vector<std::vector<std::vector<double>>> off(world);  // of each rank and source, before each step
    std::vector<RankDeal> deals;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      deals.emplace_back(kStart, rows, rank, world);
      off[rank].assign(sources, {0});
    }
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      Counts next = shares.counts_before(kStart + step * rows * world);
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        std::uint64_t got = 0;
        const auto runs = deals[rank].runs_of(shares, step);
        for (std::size_t s = 0; s < sources; ++s) {
          REQUIRE(runs[s].first == next[s]);
          next[s] += runs[s].count;
          got += runs[s].count;
          off[rank][s].push_back(off[rank][s].back() + static_cast<double>(runs[s].count) - part(weights, s) * rows);
        }
        REQUIRE(got == rows);
      }
      REQUIRE(next == shares.counts_before(kStart + (step + 1) * rows * world));
    }
    const double most = sources == 2 || rows >= 4 ? 2.0 * rows : 5.0 * rows;
    for (const auto& of_rank : off)
      for (const auto& of_source : of_rank)
        for (std::uint64_t step = 100; step <= kSteps; ++step)
          REQUIRE(std::abs(of_source[step] - of_source[step - 100]) <= most);
    RankDeal jumping(kStart, rows, world - 1, world);
    for (const std::uint64_t step : {std::uint64_t{599}, std::uint64_t{3}, std::uint64_t{300}, std::uint64_t{256}}) {
      const auto far = jumping.runs_of(shares, step);
      RankDeal fresh(kStart, rows, world - 1, world);
      for (std::uint64_t before = 0; before < step; ++before) fresh.runs_of(shares, before);
      const auto near = fresh.runs_of(shares, step);
      for (std::size_t s = 0; s < sources; ++s) {
        CHECK(far[s].first == near[s].first);
        CHECK(far[s].count == near[s].count);
      }
    }
  }
}

TEST_CASE("drawn shares have each source's part of a block, and every index once") {
  const Counts weights{5, 3, 0, 1};
  const ShareTree tree(weights);
  const std::uint64_t length = 3 * DrawnShares::kDrawnBlock + 77;
  DrawnShares shares(tree, length, 9, 4);
  std::vector<std::vector<bool>> met(weights.size(), std::vector<bool>(length, false));
  Counts counts(weights.size(), 0);
  for (std::uint64_t position = 0; position < length; ++position) {
    if (position % DrawnShares::kDrawnBlock == 0) CHECK(counts == tree.counts_of(position));
    if (position % 1000 == 0) CHECK(shares.counts_before(position) == counts);
    const SharePlace place = shares.at(position);
    REQUIRE(!met[place.source][place.index]);
    met[place.source][place.index] = true;
    ++counts[place.source];
  }
  CHECK(counts == tree.counts_of(length));
  // Independent draws of 5/9: a run of 64 has a deviation of 4, which one of at most two could not have.
  double squares = 0;
  for (std::uint64_t batch = 0; batch < 100; ++batch) {
    double first = 0;
    for (std::uint64_t i = 0; i < 64; ++i) first += shares.at(batch * 64 + i).source == 0 ? 1 : 0;
    squares += (first - 64 * 5 / 9.0) * (first - 64 * 5 / 9.0);
  }
  CHECK(std::sqrt(squares / 100) > 3);
  CHECK(std::sqrt(squares / 100) < 5);
}

TEST_CASE("an epoch that lies in several phases has of each what is the phase's") {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t sources = 1 + random() % 5;
    std::vector<ShareTree> trees;
    std::vector<Counts> weights;
    std::vector<std::uint64_t> lengths;
    for (std::size_t phase = 0; phase < 1 + random() % 4; ++phase) {
      weights.push_back(drawn_weights(random, sources));
      if (sources > 1 && random() % 2 == 0) weights.back()[random() % sources] = 0;
      trees.emplace_back(weights.back());
      lengths.push_back(1 + random() % 300);
    }
    std::vector<PhasedShares::Part> parts;
    const std::uint64_t origin = random() % lengths.front();
    std::vector<std::uint32_t> wanted;  // source of each position
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      const std::uint64_t first = i == 0 ? origin : 0;
      Shares own(trees[i], lengths[i], 7, i);
      parts.push_back({.begin = begin, .origin = first, .shares = own});
      for (std::uint64_t at = first; at < lengths[i]; ++at) wanted.push_back(own.at(at).source);
      begin += lengths[i] - first;
    }
    PhasedShares phased(std::move(parts));
    Counts counts(sources, 0);
    for (std::uint64_t position = 0; position < wanted.size(); ++position) {
      REQUIRE(phased.counts_before(position) == counts);
      const SharePlace place = phased.at(position);
      REQUIRE(place == SharePlace{wanted[position], counts[wanted[position]]});
      REQUIRE(phased.position_of(place.source, place.index) == position);
      ++counts[place.source];
    }
    CHECK(phased.counts_before(wanted.size()) == counts);
  }
}

}  // namespace penstock::test::shares_test
