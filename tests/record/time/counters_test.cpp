// Tests the table of counters: sums, resets, and that each counter has a name and a text of its own.
#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <penstock/loader.hpp>
#include <penstock/stats.hpp>
#include <record/watch/openmetrics.hpp>

#include "support/loading.hpp"

namespace penstock::test::counters_test {
namespace {

using Rule = Counter::Rule;

// Each counter has a number of its own.
Counts numbered(std::uint64_t from) {
  Counts counts;
  for (const Counter& counter : counters()) counter.set(counts, from++);
  return counts;
}

LoaderOptions options_of() {
  LoaderOptions options{.batch_size = 4, .workers = 2};
  options.checksums = Checksums::always;
  options.cache.kind = CacheKind::encoded;
  return options;
}

void run_epoch(Loader& loader) {
  while (loader.next()) {
  }
}

}  // namespace

TEST_CASE("a counter has one entry, with a name, a sentence and a metric of its own") {
  std::set<std::string> names, metrics;
  for (const Counter& counter : counters()) {
    const std::string name = std::string(counter.group) + "." + std::string(counter.name);
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(counter.meaning.ends_with("."));
    CHECK(counter.name.ends_with("_s") == (counter.unit == Counter::Unit::time));
    if (counter.metric == Counter::kNoFamily) continue;
    const std::string family = family_of(counter);
    CHECK(metrics.insert(family).second);
    CHECK(family.ends_with("_seconds") == (counter.unit == Counter::Unit::time));
    CHECK(family.ends_with("_bytes") == (counter.unit == Counter::Unit::bytes));
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

TEST_CASE("the stats of two rounds add up, also checks, cache, blocks and bad samples") {
  const Arrays arrays(20);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "packed", "tar");
  Stats sum;
  for (int round = 0; round < 2; ++round) {
    Loader loader(dataset, options_of());
    run_epoch(loader);
    Stats stats = loader.stats();
    CHECK(stats.checks.checked == 40);
    CHECK(stats.cache.misses == 40);
    stats.blocks_undone = 7;
    stats.bad_samples = 1;
    stats.bad.push_back({.key = "s", .field = "npy", .cause = "bad", .sample = 1, .epoch = 0});
    stats.gpu_jpeg_rows = 3;
    add(sum, stats);
  }
  CHECK(sum.samples == 40);
  CHECK(sum.checks.checked == 80);
  CHECK(sum.cache.misses == 80);
  CHECK(sum.blocks_undone == 14);
  CHECK(sum.bad_samples == 2);
  CHECK(sum.bad.size() == 2);
  CHECK(sum.gpu_jpeg_rows == 6);
}

TEST_CASE("reset_stats() starts every counter of the rule `counts` anew") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  write_file(folder / "data" / (number_key(3) + ".npy"), "no array");
  LoaderOptions options = options_of();
  options.on_error = OnError::replace;
  options.max_error_rate = 1;
  options.prefetch = 1;
  Loader loader(open(folder / "data"), options);
  for (int epoch = 0; epoch < 2; ++epoch) run_epoch(loader);
  const Stats before = loader.stats();
  CHECK(before.bad_samples > 0);
  CHECK(before.bad.size() == before.bad_samples);
  loader.reset_stats();
  const Stats after = loader.stats();
  for (const Counter& counter : counters()) {
    CAPTURE(counter.name);
    // The loader may read ahead of the next epoch meanwhile, never as much as two epochs.
    // On a busy machine it may wait longer for a core meanwhile than in both, so times are left out.
    if (counter.rule == Rule::counts && counter.unit != Counter::Unit::time && counter.get(before) > 0)
      CHECK(counter.get(after) < counter.get(before));
    if (counter.rule != Rule::counts) CHECK(counter.get(after) >= counter.get(before) / 2);
  }
  CHECK(after.samples == 0);
  CHECK(after.wall.count() == 0);
  CHECK(after.bad_samples == 0);
  CHECK(after.bad.empty());
}

}  // namespace penstock::test::counters_test
