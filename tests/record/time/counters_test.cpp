// Tests the table of counters: that each counter has a name and a text of its own.
#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <penstock/record/time/counters.hpp>

namespace penstock::test::counters_test {
namespace {

using Rule = Counter::Rule;

// Each counter has a number of its own.
Counts numbered(std::uint64_t from) {
  Counts counts;
  for (const Counter& counter : counters()) counter.set(counts, from++);
  return counts;
}

}  // namespace

TEST_CASE("a counter has one entry, with a name and a sentence of its own") {
  std::set<std::string> names;
  for (const Counter& counter : counters()) {
    const std::string name = std::string(counter.group) + "." + std::string(counter.name);
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(counter.meaning.ends_with("."));
    CHECK(counter.name.ends_with("_s") == (counter.unit == Counter::Unit::time));
  }
}

TEST_CASE("every number of Counts has an entry") {
  // What no entry sets stays zero: the sums over answers alone, which are no counters.
  Counts counts = numbered(1);
  counts.reads.store.answers = std::bit_cast<AnswerSums>(std::array<std::uint64_t, 5>{1, 1, 1, 1, 1});
  const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(Counts) / 8>>(counts);
  CHECK(std::ranges::count(words, 0) == 0);
  CHECK(counters().size() + 5 == words.size());
}

TEST_CASE("add() and subtract() go by the rule of each counter") {
  const Counts some = numbered(1000), more = numbered(2000);
  Counts sum = some;
  add(sum, more);
  Counts rest = more;
  subtract(rest, some);
  for (const Counter& counter : counters()) {
    CAPTURE(counter.name);
    const std::uint64_t ours = counter.get(some), theirs = counter.get(more);
    CHECK(counter.get(sum) == (counter.rule == Rule::counts  ? ours + theirs
                               : counter.rule == Rule::peaks ? theirs
                                                             : ours));
    CHECK(counter.get(rest) == (counter.rule == Rule::counts ? 1000 : theirs));
  }
}

}  // namespace penstock::test::counters_test
