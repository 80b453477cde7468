#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <formats/lists/number_table.hpp>
#include <formats/lists/sample_list.hpp>

namespace penstock::test::sample_list_test {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers numbers_of(const SampleList& list) {
  Numbers numbers;
  for (std::uint64_t i = 0; i < list.size(); ++i) numbers.push_back(list[i]);
  return numbers;
}

Numbers numbers_of_runs(const SampleList& list) {
  Numbers numbers;
  list.for_each_run([&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(first + i);
  });
  return numbers;
}

// Lists of every form: runs, dense and sparse choices, any order, numbers beyond 32 bits.
Numbers random_numbers(std::mt19937_64& random) {
  const std::uint64_t most = std::uint64_t{1} << (random() % 18);
  const std::uint64_t base = random() % 4 == 0 ? std::uint64_t{1} << (random() % 40) : 0;
  Numbers numbers(random() % (most + 1));
  switch (random() % 4) {
    case 0:
      std::iota(numbers.begin(), numbers.end(), base);
      break;
    case 1: {  // increasing; with gaps of up to 1, 8, 64
      std::uint64_t number = base;
      const std::uint64_t gap = std::uint64_t{1} << (3 * (random() % 3));
      for (std::uint64_t& each : numbers) each = number += 1 + random() % gap;
      break;
    }
    case 2:
      std::iota(numbers.begin(), numbers.end(), base);
      std::shuffle(numbers.begin(), numbers.end(), random);
      break;
    default:
      for (std::uint64_t& each : numbers) each = base + random() % (2 * most);
  }
  return numbers;
}

void check_equal(const SampleList& list, const Numbers& numbers, std::mt19937_64& random) {
  REQUIRE(list.size() == numbers.size());
  CHECK(list.empty() == numbers.empty());
  CHECK(numbers_of(list) == numbers);
  CHECK(numbers_of_runs(list) == numbers);
  for (int i = 0; i < 5 && !numbers.empty(); ++i) {
    const std::uint64_t wanted = numbers[random() % numbers.size()] + (random() % 3 == 0 ? random() % 9 : 0);
    const auto place = std::ranges::find(numbers, wanted);
    const auto found = list.find(wanted);
    CHECK(found.has_value() == (place != numbers.end()));
    if (found) CHECK(*found == static_cast<std::uint64_t>(place - numbers.begin()));
  }
}

}  // namespace

TEST_CASE("a list has the numbers it was made of, whatever it was cut from, put together of and chosen by") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 120; ++round) {
    Numbers numbers = random_numbers(random);
    SampleList list = SampleList::of(numbers);
    check_equal(list, numbers, random);
    for (int step = 0; step < 3; ++step) {
      if (random() % 2 == 0) {
        const Numbers more = random_numbers(random);
        list.append(SampleList::of(more));
        numbers.insert(numbers.end(), more.begin(), more.end());
      }
      if (random() % 3 == 0) {
        const std::uint64_t first = random() % (numbers.size() + 1), count = random() % (numbers.size() - first + 1);
        list = list.slice(first, count);
        const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(first);
        numbers = Numbers(begin, begin + static_cast<std::ptrdiff_t>(count));
      }
      if (random() % 3 == 0) {
        list = list.shifted(17);
        for (std::uint64_t& each : numbers) each += 17;
      }
      if (random() % 3 == 0 && !numbers.empty()) {
        Numbers positions = random_numbers(random), at;
        for (std::uint64_t& each : positions) each %= numbers.size();
        for (const std::uint64_t each : positions) at.push_back(numbers[each]);
        list = list.at(SampleList::of(positions));
        numbers = at;
      }
      check_equal(list, numbers, random);
    }
  }
}

TEST_CASE("a table of numbers is a list of them") {
  auto table = std::make_shared<NumberTable>(1000, 5'000'000'000);
  for (std::uint64_t i = 0; i < 1000; ++i) table->set(i, 4'999'999'999 - i);
  const SampleList list = SampleList::of(table);
  CHECK(list[0] == 4'999'999'999);
  CHECK(list[999] == 4'999'999'000);
  CHECK(list.find(4'999'999'500) == 499);
}

TEST_CASE("what was split and put together again is a run") {
  const SampleList run = SampleList::range(5, 1000);
  SampleList again = run.slice(0, 400);
  again.append(run.slice(400, 600));
  std::uint64_t runs = 0;
  again.for_each_run([&](std::uint64_t first, std::uint64_t count) {
    CHECK(first == 5);
    CHECK(count == 1000);
    ++runs;
  });
  CHECK(runs == 1);
  CHECK(again.bytes() < 1000);
}

TEST_CASE("a choice of half of 40 million samples takes less than 8 MB, any order of them no more than 1 MB") {
  constexpr std::uint64_t kSamples = 40'000'000;
  SampleListBuilder builder;
  for (std::uint64_t i = 0; i < kSamples; i += 1 + i % 3) builder.add(i);
  const SampleList chosen = std::move(builder).finish();
  CHECK(chosen.bytes() < 8'000'000);
  CHECK(chosen.find(chosen[chosen.size() / 2]) == chosen.size() / 2);
  CHECK(chosen.slice(1000, 10'000'000).at(SampleList::range(7, 100))[5] == chosen[1012]);

  SampleListBuilder backwards;
  for (std::uint64_t i = kSamples / 4; i > 0; --i) backwards.add(4 * i);
  const SampleList order = std::move(backwards).finish();
  CHECK(order.bytes() < 1'000'000);
  CHECK(order[0] == kSamples);
  CHECK(order[kSamples / 4 - 1] == 4);
}

}  // namespace penstock::test::sample_list_test
