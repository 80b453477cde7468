// Tests what is kept of failures: of rows in a batch, and of bad samples in an epoch.
#include <string>

#include <doctest/doctest.h>

#include <loader/batch/batch_builder.hpp>
#include <loader/batch/reorder_buffer.hpp>
#include <loader/work/failures.hpp>
#include <transforms/output.hpp>

#include "support/loading.hpp"

namespace penstock::test::failures_test {
namespace {

std::string text(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<BadSample> bad(std::size_t count) {
  return std::vector<BadSample>(count, BadSample{"key", "field", "cause", 0, 0});
}

std::vector<BadSample> bad_at(std::initializer_list<std::uint64_t> positions) {
  std::vector<BadSample> all = bad(positions.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].position = positions.begin()[i];
  return all;
}

/// A batch in the making, of four rows.
struct Making {
  Making() { builder.rows.resize(4); }
  Arrays arrays{4};
  std::shared_ptr<SlabPool> slabs = std::make_shared<SlabPool>(arrays.dataset(), std::span<const Output>{}, 4, 0, 1);
  BatchBuilder builder{*slabs->acquire({}, [] { return false; }), 0};
};

}  // namespace

TEST_CASE("the first row in plan order decides what a batch fails with, whichever fails first") {
  Making making;
  for (const auto& order : {std::array{0U, 1U, 2U, 3U}, std::array{3U, 2U, 1U, 0U}, std::array{2U, 0U, 3U, 1U}}) {
    making.builder.begin(0, 0, 0);
    for (const std::uint32_t row : order)
      making.builder.fail(row, std::make_exception_ptr(Error::io(5, "row " + std::to_string(row))));
    CHECK(text(making.builder.failure()).find("row 0") != std::string::npos);
    CHECK(making.builder.other_failures() == 3);
  }
  making.builder.begin(0, 0, 0);
  CHECK(making.builder.failure() == nullptr);
  CHECK(making.builder.other_failures() == 0);
}

TEST_CASE("bad samples are counted for each epoch by itself, and once each") {
  Failures failures({0.1}, {{.samples = 40}}, 1);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (const std::uint64_t position : {3U, 5U, 3U, 7U, 9U}) failures.record({.epoch = epoch}, bad_at({position}), 0);
    CHECK(failures.before(40) == 4);
    CHECK_NOTHROW(failures.require_within_share(40));
  }
  failures.record({.epoch = 19}, bad_at({8}), 0);
  CHECK_THROWS_WITH_AS(failures.require_within_share(40), doctest::Contains("5 of 40"), Error);
  Stats stats;
  failures.report(stats);
  CHECK(stats.bad_samples == 101);
}

TEST_CASE("a limit that is a number of samples does not depend on how many an epoch has") {
  Failures failures({.count = 2}, {{.samples = 1000}}, 4);
  failures.record({}, bad_at({3, 5}), 0);
  CHECK_NOTHROW(failures.require_within_share(1000));
  CHECK_NOTHROW(failures.require_within_all(2));
  CHECK_THROWS_WITH_AS(
      failures.require_within_all(3),
      doctest::Contains("3 of 1000 samples of epoch 0, over all ranks, are invalid, more than max_errors=2 allows"),
      Error);
  failures.record({}, bad_at({7}), 0);
  CHECK_THROWS_WITH_AS(failures.require_within_share(1000), doctest::Contains("more than max_errors=2"), Error);
}

TEST_CASE("another order of the same epoch is counted by itself") {
  Failures failures({1}, {{.samples = 40}}, 1);
  const Position order{.seed = 1, .shuffle_block = 8, .epoch = 3, .start = 4, .batch = 2};
  const auto record = [&](Position at) {
    failures.record(order, bad_at({5, 6}), 0);
    failures.record(at, bad_at({7}), 0);
    return failures.before(40);
  };
  const auto changed = [&](auto member, std::uint64_t value) {
    Position other = order;
    other.*member = value;
    return record(other);
  };
  CHECK(changed(&Position::seed, 2) == 1);
  CHECK(changed(&Position::shuffle_block, 0) == 1);
  CHECK(changed(&Position::epoch, 4) == 1);
  CHECK(changed(&Position::start, 0) == 3);  // another place in the same order
  CHECK(changed(&Position::batch, 0) == 3);
  CHECK(failures.before(7) == 2);
  CHECK(failures.before(6) == 1);
}

TEST_CASE("bad samples of a batch come in the order of its rows, whichever failed first") {
  Making making;
  making.builder.begin(0, 0, 0);
  for (const std::uint32_t row : {2U, 0U, 3U, 1U}) making.builder.add_bad(row, bad_at({row}).front());
  std::vector<std::uint64_t> rows;
  for (const BadSample& sample : making.builder.take_bad()) rows.push_back(*sample.position);
  CHECK(rows == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(making.builder.take_bad().empty());
}

TEST_CASE("a rank's share is that of the fullest one, and all ranks have all samples") {
  Failures failures({0.1}, {{.samples = 41}}, 4);
  failures.record({}, bad_at({3}), 0);
  CHECK_NOTHROW(failures.require_within_share(40));
  std::vector<BadSample> one = bad_at({4});
  one.back().cause = "cut short";
  failures.record({}, std::move(one), 0);
  CHECK_NOTHROW(failures.require_within_share(4));
  CHECK_THROWS_WITH_AS(failures.require_within_share(5), doctest::Contains("2 of 11 samples of epoch 0, on this rank"),
                       Error);
  CHECK_THROWS_WITH_AS(failures.require_within_share(5), doctest::Contains("allows; the last: cut short"), Error);
  CHECK_NOTHROW(failures.require_within_all(4));
  CHECK_THROWS_WITH_AS(failures.require_within_all(5), doctest::Contains("5 of 41 samples of epoch 0, over all ranks"),
                       Error);
}

TEST_CASE("each source of a mixture has a limit of its own") {
  Failures failures({0.1}, {{"photos", 0, 100}, {"drawings", 50, 10}}, 1);
  const auto bad = [](std::uint64_t sample, std::uint64_t position) {
    std::vector<BadSample> samples = bad_at({position});
    samples.back().sample = sample;
    return samples;
  };
  for (std::uint64_t i = 0; i < 10; ++i) failures.record({}, bad(49 - i, i), 0);
  failures.record({}, bad(50, 20), 0);
  CHECK_NOTHROW(failures.require_within_share(100));
  failures.record({}, bad(59, 30), 0);
  CHECK_NOTHROW(failures.require_within_share(30));
  CHECK_THROWS_WITH_AS(failures.require_within_share(31),
                       doctest::Contains("2 of 10 samples of epoch 0, of source \"drawings\", are invalid"), Error);
  CHECK(failures.before(100) == 12);
}

TEST_CASE("the first thousand bad samples are listed, the others counted") {
  Failures failures({1}, {{.samples = 3000}}, 1);
  for (std::uint64_t position = 0; position < 1003; ++position)
    failures.record({}, bad_at({position}), position == 0 ? 2 : 0);
  Stats stats;
  failures.report(stats);
  CHECK(stats.bad.size() == 1000);
  CHECK(stats.bad.back().position == 999);
  CHECK(stats.bad_samples == 1003);
  CHECK(stats.later_failures == 2);
  CHECK(failures.before(3000) == 1003);
}

TEST_CASE("a delivery that fails gives what is ready, then throws the failure each time") {
  Making making;
  ReorderBuffer reorder(making.slabs, 1);
  making.builder.begin(0, reorder.generation(), 0);
  reorder.put(making.builder);
  reorder.fail(std::make_exception_ptr(Error::resource("over")));
  {
    const std::optional<BatchResult> ready = reorder.take({});
    REQUIRE(ready);
    CHECK(ready->batch.slab().get() == &making.builder.slab());
  }
  for (int again = 0; again < 2; ++again) CHECK_THROWS_WITH_AS(reorder.take({}), doctest::Contains("over"), Error);
  const std::size_t free = making.slabs->free_slabs();
  making.builder.begin(0, reorder.generation(), 1);
  reorder.put(making.builder);  // too late
  CHECK(making.slabs->free_slabs() == free + 1);
  CHECK_THROWS_WITH_AS(reorder.take({}), doctest::Contains("over"), Error);
  reorder.go_to({}, reorder.generation() + 1);
  CHECK_THROWS_WITH_AS(reorder.take({}), doctest::Contains("over"), Error);
}

}  // namespace penstock::test::failures_test
