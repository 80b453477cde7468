#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <order/buckets/length_table.hpp>
#include <order/cursor.hpp>
#include <order/plan.hpp>
#include <penstock/error.hpp>

namespace penstock::test::bucketed_order_test {
namespace {

std::shared_ptr<const LengthTable> table_of(const std::vector<double>& lengths) {
  auto table = std::make_shared<LengthTable>(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) table->set(i, lengths[i]);
  table->finish();
  return table;
}

std::vector<double> random_lengths(std::mt19937& random, std::size_t count, bool whole, double most) {
  std::vector<double> lengths(count);
  for (double& length : lengths) {
    length = std::uniform_real_distribution<double>(0, most)(random);
    if (whole) length = std::floor(length);
  }
  return lengths;
}

PlanOptions options_of(const std::vector<double>& lengths, std::uint64_t window, double budget = 0) {
  PlanOptions options{.samples = lengths.size()};
  options.bucketed = std::make_shared<const BucketedOrder>("n", table_of(lengths), window, budget);
  return options;
}

/// All ranks' rows of a step, rank by rank; equally many of each.
std::vector<Row> step_of(PlanOptions options, const Position& position, std::uint64_t b) {
  std::vector<Row> all, rows;
  std::size_t of_rank = 0;
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    position.plan(options).batch(b, rows);
    if (options.rank == 0) of_rank = rows.size();
    REQUIRE(rows.size() == of_rank);
    REQUIRE(rows.size() <= options.batch_size);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

std::vector<std::uint64_t> valid_samples(const std::vector<Row>& rows) {
  std::vector<std::uint64_t> samples;
  for (const Row& row : rows)
    if (row.valid) samples.push_back(row.sample);
  return samples;
}

double longest(const std::vector<Row>& rows, const std::vector<double>& lengths) {
  double most = 0;
  for (const Row& row : rows) most = std::max(most, lengths[row.sample]);
  return most;
}

}  // namespace

TEST_CASE("whatever the sizes, an epoch of batches by length has each sample once, at rising places") {
  std::mt19937 random(20261123);
  MESSAGE("seed 20261123");
  const auto draw = [&](std::uint64_t least, std::uint64_t most) { return least + random() % (most - least + 1); };
  for (int round = 0; round < 400; ++round) {
    const bool budgeted = draw(0, 1) == 1, whole = draw(0, 1) == 1;
    const std::vector<double> lengths = random_lengths(random, draw(1, 400), whole, 50);
    const auto batch_size = static_cast<std::uint32_t>(draw(1, 12)), world = static_cast<std::uint32_t>(draw(1, 8));
    const double budget = budgeted ? 50 + static_cast<double>(draw(0, 200)) : 0;
    PlanOptions options = options_of(lengths, draw(batch_size * world, 200 + batch_size * world), budget);
    options.shuffle = draw(0, 1) == 1;
    options.seed = draw(0, 9);
    options.batch_size = batch_size;
    options.world = world;
    options.last = static_cast<Last>(draw(0, 2));
    const Position at{.seed = options.seed, .epoch = draw(0, 3)};
    const Plan plan = at.plan(options);
    std::vector<std::uint64_t> delivered;
    std::uint64_t place = 0;
    for (std::uint64_t b = 0; plan.has(b); ++b) {
      REQUIRE(plan.position_after(b) == place);
      const std::vector<Row> rows = step_of(options, at, b);
      for (const Row& row : rows)
        if (row.valid) REQUIRE(row.position == place++);
      const std::vector<std::uint64_t> samples = valid_samples(rows);
      delivered.insert(delivered.end(), samples.begin(), samples.end());
      const double of_rank = static_cast<double>(rows.size() / world);
      if (budgeted) REQUIRE(longest(rows, lengths) * of_rank <= budget);
      REQUIRE(b < plan.batches());
    }
    REQUIRE(plan.batches() == [&] {
      std::uint64_t b = 0;
      while (plan.has(b)) ++b;
      return b;
    }());
    const std::uint64_t unit = budgeted ? world : batch_size * world;
    const std::uint64_t left_out = options.last == Last::drop ? lengths.size() % unit : 0;
    REQUIRE(delivered.size() == lengths.size() - left_out);
    REQUIRE(std::set<std::uint64_t>(delivered.begin(), delivered.end()).size() == delivered.size());
  }
}

TEST_CASE("within a window batches are cut from the longest samples on, and with a budget as large as fits") {
  const std::vector<double> lengths{3, 9, 1, 7, 5, 8, 2, 6};
  SUBCASE("without budget") {
    PlanOptions options = options_of(lengths, 8);
    options.batch_size = 2;
    const Plan plan(options, 0);
    std::vector<Row> rows;
    std::vector<std::uint64_t> samples;
    for (std::uint64_t b = 0; b < plan.batches(); ++b) {
      plan.batch(b, rows);
      for (const Row& row : rows) samples.push_back(row.sample);
    }
    CHECK(samples == std::vector<std::uint64_t>{1, 5, 3, 7, 4, 0, 6, 2});
  }
  SUBCASE("with a budget of 16") {
    PlanOptions options = options_of(lengths, 8, 16);
    options.batch_size = 8;
    const Plan plan(options, 0);
    std::vector<Row> rows;
    std::vector<std::vector<std::uint64_t>> batches;
    for (std::uint64_t b = 0; b < plan.batches(); ++b) {
      plan.batch(b, rows);
      batches.push_back(valid_samples(rows));
    }
    CHECK(batches == std::vector<std::vector<std::uint64_t>>{{1}, {5, 3}, {7, 4}, {0, 6, 2}});
  }
}

TEST_CASE("lengths that are no whole numbers, or too large for 4 bytes, sort as they are") {
  for (const double unit : {0.37, 1e10}) {
    std::vector<double> lengths;
    for (const int i : {3, 9, 1, 7, 5, 8, 2, 6}) lengths.push_back(i * unit);
    PlanOptions options = options_of(lengths, 8);
    options.batch_size = 8;
    std::vector<Row> rows;
    Plan(options, 0).batch(0, rows);
    CHECK(valid_samples(rows) == std::vector<std::uint64_t>{1, 5, 3, 7, 4, 0, 6, 2});
    CHECK(table_of(lengths)->wide());
  }
}

TEST_CASE("samples left over at the end of an epoch are not chosen by their length") {
  const std::vector<double> lengths{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  PlanOptions options = options_of(lengths, 8);
  options.batch_size = 4;
  std::vector<Row> rows;
  Plan(options, 0).batch(2, rows);
  CHECK(valid_samples(rows) == std::vector<std::uint64_t>{8, 9});
}

TEST_CASE("other ranks go on with the very same global batches, from any step and again later") {
  std::mt19937 random(7);
  const auto draw = [&](std::uint64_t least, std::uint64_t most) { return least + random() % (most - least + 1); };
  constexpr std::uint32_t kWorlds[] = {1, 2, 3, 8};
  for (int round = 0; round < 200; ++round) {
    const bool budgeted = draw(0, 1) == 1;
    const std::vector<double> lengths = random_lengths(random, draw(50, 400), true, 20);
    constexpr std::uint32_t kRows = 24;  // of a global batch
    const double budget_of_all = 24 * 20 + static_cast<double>(24 * draw(0, 20));
    const auto of = [&](std::uint32_t ranks) {
      PlanOptions options = options_of(lengths, 100, budgeted ? budget_of_all / ranks : 0);
      options.shuffle = true;
      options.seed = 5;
      options.world = ranks;
      options.batch_size = kRows / ranks;
      return options;
    };
    PlanOptions options = of(kWorlds[draw(0, 3)]);
    const Position at{.seed = 5, .epoch = 2};
    std::vector<std::vector<std::uint64_t>> whole;
    const Plan plan = at.plan(options);
    for (std::uint64_t b = 0; plan.has(b); ++b) whole.push_back(valid_samples(step_of(options, at, b)));

    std::optional<Cursor> cursor(std::in_place, options, std::nullopt, 0);
    cursor->go_to(at);
    std::size_t got = 0;
    const auto step = [&] {  // all ranks together have the global batch that the first ranks would have had
      REQUIRE(valid_samples(step_of(options, cursor->position(), cursor->position().batch)) == whole[got++]);
      cursor->advance();
      cursor->delivered();
    };
    step();
    while (!cursor->at_end()) {
      for (std::uint64_t steps = draw(0, 4); steps > 0 && !cursor->at_end(); --steps) step();
      const LoaderState state = LoaderState::from_json(cursor->save(1, "t").to_json());
      const std::uint64_t reached = cursor->reached();
      options = of(kWorlds[draw(0, 3)]);
      Cursor same(options, {}, 0);
      same.go_to(same.load(state, 1, "t").position);
      REQUIRE(same.reached() == reached);
      REQUIRE(same.position().epoch == 2);
      cursor.emplace(options, std::nullopt, 0);
      cursor->go_to(same.position());
      if (!cursor->at_end()) step();
    }
    REQUIRE(got == whole.size());
  }
}

TEST_CASE("other sizes of a batch cut the same places, without a budget; with one they wait for the epoch's end") {
  std::mt19937 random(11);
  const std::vector<double> lengths = random_lengths(random, 300, true, 30);
  PlanOptions first = options_of(lengths, 100);
  first.shuffle = true;
  first.batch_size = 10;
  Cursor cursor(first, {}, 0);
  std::set<std::uint64_t> seen;
  for (int b = 0; b < 7; ++b) {
    for (const std::uint64_t sample : valid_samples(step_of(first, cursor.position(), cursor.position().batch)))
      CHECK(seen.insert(sample).second);
    cursor.advance();
    cursor.delivered();
  }
  PlanOptions second = options_of(lengths, 100);
  second.shuffle = true;
  second.batch_size = 7;
  second.world = 2;
  Cursor other(second, {}, 0);
  other.go_to(other.load(cursor.save(1, "t"), 1, "t").position);
  CHECK(other.reached() == 70);
  while (!other.at_end()) {
    for (const std::uint64_t sample : valid_samples(step_of(second, other.position(), other.position().batch)))
      CHECK(seen.insert(sample).second);
    other.advance();
    other.delivered();
  }
  CHECK(seen.size() == 300);

  PlanOptions budgeted = options_of(lengths, 100, 100);
  budgeted.shuffle = true;
  budgeted.batch_size = 10;
  Cursor by_budget(budgeted, {}, 0);
  by_budget.advance();
  by_budget.delivered();
  PlanOptions larger = options_of(lengths, 100, 120);
  larger.shuffle = true;
  larger.batch_size = 10;
  const Cursor refuses(larger, {}, 0);
  CHECK_THROWS_WITH_AS(refuses.load(by_budget.save(1, "t"), 1, "t"),
                       doctest::Contains("budget=100, this loader has 1 rank with batch_size=10"), Error);
  while (!by_budget.at_end()) {
    by_budget.advance();
    by_budget.delivered();
  }
  Cursor goes_on(larger, {}, 0);
  goes_on.go_to(goes_on.load(by_budget.save(1, "t"), 1, "t").position);
  CHECK(goes_on.at_end());
  by_budget.next_epoch();
  goes_on.go_to(goes_on.load(by_budget.save(1, "t"), 1, "t").position);
  CHECK(goes_on.position().epoch == 1);
  CHECK(goes_on.position().composed == BatchLimits{});
}

TEST_CASE("a state of other lengths, another window, or without any is refused in words") {
  const std::vector<double> lengths{1, 2, 3, 4}, others{1, 2, 3, 5};
  const Cursor plain(PlanOptions{.samples = 4}, {}, 0);
  const Cursor bucketed(options_of(lengths, 2), {}, 0), other(options_of(others, 2), {}, 0),
      wider(options_of(lengths, 3), {}, 0);
  const LoaderState state = bucketed.save(1, "t");
  const auto refused = [&](const Cursor& cursor, const LoaderState& saved, const char* cause) {
    CHECK_THROWS_WITH_AS(cursor.load(saved, 1, "t"), doctest::Contains(cause), Error);
  };
  refused(plain, state, "saved with by_length(\"n\"), this loader has no batching by length");
  refused(bucketed, plain.save(1, "t"), "saved with no batching by length, this loader has by_length(\"n\")");
  refused(other, state, "saved with other lengths");
  refused(wider, state, "saved with pool=2, this loader has pool=3");
}

TEST_CASE("a saved state of batches by length is read as it was written, and stays readable") {
  PlanOptions options = options_of({4, 1, 3, 2}, 4, 8.5);
  options.batch_size = 2;
  const LoaderState state = Cursor(options, {}, 0).save(0x1234, "t");
  CHECK(LoaderState::from_json(state.to_json()) == state);
  // Saved when batches by length were new: it must be read for ever.
  const std::string golden =
      R"({"penstock_state":2,"dataset":"0000000000001234","samples":4,"seed":0,"epoch":0,"start":0,"batch":0,"world":1,)"
      R"("batch_size":2,"transforms":"t","shuffle":false,"shuffle_block":0,"subset":null,"last":"keep","buckets":)"
      R"({"by":"n","lengths":"51585716c53a01ee","window":4,"batch_size":2,"world":1,"batch_budget":8.5}})";
  CHECK(state.to_json() == golden);
  for (const char* wrong : {R"("batch_budget":-1)", R"("batch_budget":"8")"}) {
    std::string text = state.to_json();
    text.replace(text.find(R"("batch_budget":8.5)"), 18, wrong);
    CHECK_THROWS_AS(LoaderState::from_json(text), Error);
  }
}

TEST_CASE("padding is a small part of what it is in the order as it comes") {
  std::mt19937 random(3);
  std::vector<double> lengths(20'000);
  for (double& length : lengths) length = std::floor(std::exp(std::normal_distribution<double>(5, 0.8)(random)));
  const auto padded = [&](PlanOptions options) {
    options.shuffle = true;
    options.batch_size = 32;
    const Plan plan(options, 0);
    double all = 0, used = 0;
    std::vector<Row> rows;
    for (std::uint64_t b = 0; b < plan.batches(); ++b) {
      plan.batch(b, rows);
      all += longest(rows, lengths) * static_cast<double>(rows.size());
      for (const Row& row : rows) used += lengths[row.sample];
    }
    return 1 - used / all;
  };
  const double plain = padded(PlanOptions{.samples = lengths.size()}), bucketed = padded(options_of(lengths, 4'000));
  MESSAGE("padding: " << plain << " in the order as it comes, " << bucketed << " by length");
  CHECK(bucketed < plain / 10);
}

}  // namespace penstock::test::bucketed_order_test
