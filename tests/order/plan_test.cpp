#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <order/plan.hpp>
#include <penstock/error.hpp>

namespace penstock::test::plan_test {
namespace {

std::vector<std::vector<Row>> batches_of(const Plan& plan) {
  std::vector<std::vector<Row>> batches(plan.batches());
  for (std::uint64_t b = 0; b < batches.size(); ++b) plan.batch(b, batches[b]);
  return batches;
}

// Positions that count, of all ranks, sorted; checks what must hold of every row.
std::vector<std::uint64_t> delivered(PlanOptions options, std::uint64_t start, std::uint64_t batches_at_most) {
  std::vector<std::uint64_t> positions;
  std::vector<std::size_t> rows_of_first_rank;
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    const Plan plan(options, 1, start);
    auto batches = batches_of(plan);
    if (batches.size() > batches_at_most) batches.resize(batches_at_most);
    std::vector<std::size_t> rows;
    for (std::uint64_t b = 0; b < batches.size(); ++b) {
      rows.push_back(batches[b].size());
      for (std::uint64_t i = 0; i < batches[b].size(); ++i) {
        const Row& row = batches[b][i];
        const std::uint64_t nominal = start + (b * options.world + options.rank) * options.batch_size + i;
        REQUIRE(row.sample == plan.sample_at(row.position));
        REQUIRE(row.valid == (nominal < options.samples));
        REQUIRE(row.position == (row.valid ? nominal : (nominal - options.samples) % options.samples));
        if (row.valid) positions.push_back(row.position);
      }
    }
    if (options.rank == 0) rows_of_first_rank = rows;
    REQUIRE(rows == rows_of_first_rank);
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

bool counts_up(const std::vector<std::uint64_t>& positions, std::uint64_t first, std::uint64_t end) {
  if (positions.size() != end - first) return false;
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (positions[i] != first + i) return false;
  return true;
}

bool permutes(const PlanOptions& options, std::uint64_t epoch) {
  const Plan plan(options, epoch);
  std::set<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < options.samples; ++i) samples.insert(plan.sample_at(i));
  return samples.size() == options.samples && (samples.empty() || *samples.rbegin() == options.samples - 1);
}

constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

TEST_CASE("10,007 samples over 8 ranks come each once, in equally many full batches") {
  PlanOptions options{.samples = 10007, .shuffle = true, .seed = 1, .batch_size = 64, .world = 8};
  std::multiset<std::uint64_t> samples;
  std::size_t rows = 0;
  for (options.rank = 0; options.rank < 8; ++options.rank) {
    const Plan plan(options, 0);
    CHECK(plan.batches() == 20);
    for (const auto& batch : batches_of(plan)) {
      rows += batch.size();
      for (const Row& row : batch)
        if (row.valid) samples.insert(row.sample);
    }
  }
  CHECK(rows == 8 * 20 * 64);
  CHECK(samples.size() == 10007);
  CHECK(std::set<std::uint64_t>(samples.begin(), samples.end()).size() == 10007);
  CHECK(*samples.rbegin() == 10006);
}

TEST_CASE("the end of an epoch is short, dropped or padded as asked") {
  const auto sizes = [](Last last) {
    std::vector<std::size_t> rows;
    for (const auto& batch : batches_of(Plan({.samples = 10, .batch_size = 4, .last = last}, 0)))
      rows.push_back(batch.size());
    return rows;
  };
  CHECK(sizes(Last::keep) == std::vector<std::size_t>{4, 4, 2});
  CHECK(sizes(Last::drop) == std::vector<std::size_t>{4, 4});
  CHECK(sizes(Last::pad) == std::vector<std::size_t>{4, 4, 4});
  std::vector<Row> rows;
  Plan({.samples = 10, .batch_size = 4, .last = Last::pad}, 0).batch(2, rows);
  CHECK(rows == std::vector<Row>{{8, 8, true}, {9, 9, true}, {0, 0, false}, {1, 1, false}});
}

TEST_CASE("repeats go round when there are fewer samples than rows") {
  std::vector<Row> rows;
  Plan({.samples = 2, .batch_size = 5, .last = Last::pad}, 0).batch(0, rows);
  CHECK(rows == std::vector<Row>{{0, 0, true}, {1, 1, true}, {0, 0, false}, {1, 1, false}, {0, 0, false}});
}

TEST_CASE("no samples make no batches") {
  for (const Last last : {Last::keep, Last::drop, Last::pad})
    CHECK(Plan({.shuffle = true, .shuffle_block = 4, .batch_size = 4, .last = last}, 0).batches() == 0);
}

TEST_CASE("whatever the sizes, the ranks deliver each position once, and the rest again from any start") {
  std::mt19937 random(20261120);
  MESSAGE("seed 20261120");
  const auto draw = [&random](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
  for (int round = 0; round < 300; ++round) {
    PlanOptions options{.samples = draw(300),
                        .shuffle = draw(1) == 1,
                        .shuffle_block = draw(20),
                        .seed = draw(9),
                        .batch_size = 1 + draw(16),
                        .world = 1 + draw(8)};
    const std::uint64_t start = options.samples == 0 ? 0 : random() % (options.samples + 1);
    const std::uint64_t step = std::uint64_t{options.batch_size} * options.world;
    CAPTURE(options.samples);
    CAPTURE(options.batch_size);
    CAPTURE(options.world);
    CAPTURE(start);
    CHECK(permutes(options, 3));
    for (const Last last : {Last::keep, Last::pad}) {
      options.last = last;
      CHECK(counts_up(delivered(options, start, kAll), start, options.samples));
    }
    options.last = Last::drop;
    CHECK(counts_up(delivered(options, start, kAll), start, options.samples - (options.samples - start) % step));

    // Elastic: some batches with this shape, the rest with another one.
    options.last = Last::keep;
    const std::uint64_t some = draw(4);
    const std::uint64_t next = Plan(options, 1, start).position_after(some);
    auto positions = delivered(options, start, some);
    PlanOptions other = options;
    other.batch_size = 1 + draw(16);
    other.world = 1 + draw(8);
    for (const std::uint64_t position : delivered(other, next, kAll)) positions.push_back(position);
    CHECK(counts_up(positions, start, options.samples));
  }
}

TEST_CASE("after the last batch nothing is left, even when some samples were dropped") {
  const Plan plan({.samples = 10, .batch_size = 4, .last = Last::drop}, 0);
  CHECK(plan.position_after(1) == 4);
  CHECK(plan.position_after(2) == 10);
}

TEST_CASE("epochs and seeds give different orders, ranks share one") {
  const PlanOptions options{.samples = 1000, .shuffle = true, .seed = 5};
  PlanOptions other_seed = options;
  other_seed.seed = 6;
  PlanOptions other_rank = options;
  other_rank.world = 4;
  other_rank.rank = 3;
  int same_epoch = 0, same_seed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t sample = Plan(options, 0).sample_at(i);
    same_epoch += sample == Plan(options, 1).sample_at(i);
    same_seed += sample == Plan(other_seed, 0).sample_at(i);
    REQUIRE(sample == Plan(other_rank, 0).sample_at(i));
  }
  CHECK(same_epoch < 10);
  CHECK(same_seed < 10);
}

TEST_CASE("a block shuffle keeps a window's samples to its blocks, and mixes them") {
  const std::uint64_t block = 10, window = block * penstock::kShuffleWindowBlocks;
  for (const std::uint64_t samples : {std::uint64_t{1600}, std::uint64_t{1603}, std::uint64_t{9}, std::uint64_t{161}}) {
    CAPTURE(samples);
    const PlanOptions options{.samples = samples, .shuffle = true, .shuffle_block = block, .seed = 3};
    CHECK(permutes(options, 0));
    const Plan plan(options, 0);
    std::set<std::uint64_t> blocks;
    for (std::uint64_t i = 0; i + block <= std::min(samples, window); ++i) blocks.insert(plan.sample_at(i) / block);
    CHECK(blocks.size() <= penstock::kShuffleWindowBlocks);
  }
  const Plan plan({.samples = 1600, .shuffle = true, .shuffle_block = block, .seed = 3}, 0);
  std::set<std::uint64_t> of_first_ten;
  for (std::uint64_t i = 0; i < 10; ++i) of_first_ten.insert(plan.sample_at(i) / block);
  CHECK(of_first_ten.size() > 4);
}

TEST_CASE("options that contradict each other are refused") {
  const auto refused = [](const PlanOptions& options, std::uint64_t start, const char* reason) {
    CHECK_THROWS_WITH_AS(Plan(options, 0, start), doctest::Contains(reason), penstock::Error);
  };
  refused({.samples = 1, .batch_size = 0}, 0, "batch_size");
  refused({.samples = 1, .world = 0}, 0, "world");
  refused({.samples = 1, .rank = 2, .world = 2}, 0, "rank");
  refused({.samples = 1}, 2, "start");
  refused({.samples = kAll}, 2, "too large");
  std::vector<Row> rows;
  CHECK_THROWS_AS(Plan({.samples = 1}, 0).batch(1, rows), penstock::Error);
}

}  // namespace penstock::test::plan_test
