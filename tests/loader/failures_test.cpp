// What is kept of failures: of rows in a batch, and of bad samples in an epoch.
#include <string>

#include <doctest/doctest.h>

#include <penstock/loader/assembly.hpp>
#include <penstock/loader/delivery.hpp>
#include <penstock/loader/failures.hpp>

#include "support/loading.hpp"

using namespace penstock;
using namespace penstock::test;

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

/// A batch in the making, of four rows.
struct Making {
  Making() { assembly.rows.resize(4); }
  Arrays arrays{4};
  std::shared_ptr<SlabPool> slabs = std::make_shared<SlabPool>(arrays.dataset(), std::span<const Output>{}, 4, 0, 1);
  Assembly assembly{*slabs->acquire({}, [] { return false; }), 0};
};

}  // namespace

TEST_CASE("the first row in plan order decides what a batch fails with, whichever fails first") {
  Making making;
  for (const auto& order : {std::array{0U, 1U, 2U, 3U}, std::array{3U, 2U, 1U, 0U}, std::array{2U, 0U, 3U, 1U}}) {
    making.assembly.begin(0, 0, 0);
    for (const std::uint32_t row : order)
      making.assembly.fail(row, std::make_exception_ptr(Error::io(5, "row " + std::to_string(row))));
    CHECK(text(making.assembly.failure()).find("row 0") != std::string::npos);
    CHECK(making.assembly.other_failures() == 3);
  }
  making.assembly.begin(0, 0, 0);
  CHECK(making.assembly.failure() == nullptr);
  CHECK(making.assembly.other_failures() == 0);
}

TEST_CASE("bad samples are counted for each epoch by itself, and once each") {
  Failures failures(0.1, 40, 1);
  const auto at = [](std::uint64_t position) {
    std::vector<BadSample> one = bad(1);
    one.front().position = position;
    return one;
  };
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (const std::uint64_t position : {3U, 5U, 3U, 7U, 9U}) failures.record({.epoch = epoch}, at(position), 0);
    CHECK(failures.before(40) == 4);
    CHECK_NOTHROW(failures.require_within_share(failures.before(40)));
  }
  failures.record({.epoch = 19}, at(8), 0);
  CHECK_THROWS_WITH_AS(failures.require_within_share(failures.before(40)), doctest::Contains("5 of 40"), Error);
  Stats stats;
  failures.report(stats);
  CHECK(stats.bad_samples == 101);
}

TEST_CASE("a delivery that is closed with a failure gives what is ready, then throws the failure each time") {
  Making making;
  Delivery delivery(making.slabs);
  making.assembly.begin(0, delivery.generation(), 0);
  delivery.put(making.assembly);
  delivery.close(std::make_exception_ptr(Error::resource("over")));
  CHECK(delivery.take(0, {}) == &making.assembly);
  for (int again = 0; again < 2; ++again) CHECK_THROWS_WITH_AS(delivery.take(1, {}), doctest::Contains("over"), Error);
  const std::size_t free = making.slabs->free_slabs();
  making.assembly.begin(0, delivery.generation(), 1);
  delivery.put(making.assembly);  // too late
  CHECK(making.slabs->free_slabs() == free + 1);
  CHECK_THROWS_WITH_AS(delivery.take(1, {}), doctest::Contains("over"), Error);
  delivery.begin_generation();
  CHECK_THROWS_WITH_AS(delivery.take(0, {}), doctest::Contains("over"), Error);
}
