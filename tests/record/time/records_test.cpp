// Tests what is kept of times: histograms beside sorted values, the slowest rows, levels, reads, and their sums.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/loader.hpp>
#include <penstock/stats.hpp>
#include <record/time/histogram.hpp>
#include <record/time/level_log.hpp>
#include <record/time/read_record.hpp>
#include <record/time/worker_record.hpp>

#include "support/dataset_writing.hpp"
#include "support/loading.hpp"
#include "support/settled.hpp"
#include "support/working_codec.hpp"

namespace penstock::test::records_test {

using namespace std::chrono_literals;

namespace {

const Distribution& histogram(const Stats& stats, std::string_view name) {
  for (const auto& [known, distribution] : stats.histograms)
    if (known == name) return distribution;
  throw std::runtime_error("no such histogram");
}

}  // namespace

TEST_CASE("buckets cover all values without a gap, in sixteen steps to each doubling") {
  for (std::size_t bucket = 0; bucket + 1 < Buckets::kCount; ++bucket) {
    const std::uint64_t first = Buckets::first(bucket), next = Buckets::first(bucket + 1);
    REQUIRE(first < next);
    REQUIRE(Buckets::of(first) == bucket);
    REQUIRE(Buckets::of(next - 1) == bucket);
    REQUIRE((next - first == 1 || static_cast<double>(next - first) <= static_cast<double>(first) / 16));
  }
  CHECK(Buckets::of(~std::uint64_t{0}) == Buckets::kCount - 1);
}

TEST_CASE("percentiles are those of the sorted values, within a sixteenth") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(0, 30);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::uint64_t>(std::exp2(exponent(random))));
    histogram.add(values.back());
  }
  std::ranges::sort(values);
  const Distribution told = histogram.get();
  CHECK(told.count == values.size());
  CHECK(told.max == values.back());
  CHECK(told.sum == std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
  for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    CAPTURE(share);
    const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(share * 20'000)));
    const auto exact = static_cast<double>(values[rank - 1]);
    CHECK(std::abs(static_cast<double>(told.quantile(share)) - exact) <= exact / 16 + 0.5);
  }
  std::array<double, 65> exact_sums{};
  for (const std::uint64_t value : values) exact_sums[std::bit_width(value)] += static_cast<double>(value);
  for (std::size_t width = 0; width < exact_sums.size(); ++width)
    CHECK(std::abs(static_cast<double>(told.sums_by_width()[width]) - exact_sums[width]) <= exact_sums[width] / 16);
  Distribution twice = told;
  twice += told;
  CHECK(twice.count == 2 * told.count);
  CHECK(twice.quantile(0.5) == told.quantile(0.5));
  CHECK(Distribution{}.quantile(0.5) == 0);
  histogram.reset();
  CHECK(histogram.get().count == 0);
}

TEST_CASE("the ten rows that took longest are kept, longest first, whoever filled them") {
  WorkerRecord one(1), other(1);
  for (int i = 0; i < 100; ++i) {
    RowTime row{.sample = static_cast<std::uint64_t>(i)};
    row.decode = std::chrono::milliseconds((i * 37) % 100);
    (i % 2 == 0 ? one : other).row(row);
  }
  SlowestRows slowest;
  one.add_slowest(slowest);
  other.add_slowest(slowest);
  REQUIRE(slowest.rows().size() == SlowestRows::kMost);
  for (std::size_t i = 0; i < SlowestRows::kMost; ++i)
    CHECK(slowest.rows()[i].decode == std::chrono::milliseconds(99 - i));
  std::vector<std::uint64_t> kept;
  one.visit([&](const RowTime& row) { kept.push_back(row.sample); });
  CHECK(kept.size() == 50);
  CHECK(std::ranges::is_sorted(kept));
  one.reset();
  kept.clear();
  one.visit([&](const RowTime& row) { kept.push_back(row.sample); });
  CHECK(kept.empty());
}

TEST_CASE("levels are kept for minutes, in bounded memory") {
  LevelLog log;
  const auto begin = Clock::now();
  for (int i = 0; i < 20'000; ++i) {  // 1,000 seconds
    log.now(begin + i * 50ms, [&] { return Levels{.ready = static_cast<std::size_t>(i)}; });
  }
  const std::vector<Levels> all = log.all();
  CHECK(all.size() <= LevelLog::kMost);
  CHECK(all.size() >= LevelLog::kMost / 2);
  CHECK(all.back().at - all.front().at >= 200s);
  CHECK(all.back().ready >= 19'980);
  CHECK(std::ranges::is_sorted(all, {}, &Levels::at));
}

TEST_CASE("reads tell how long they took, and what was on its way") {
  ReadRecord record;
  const auto begin = Clock::now();
  const ReadSpan first = record.begin(100, begin), second = record.begin(50, begin + 1ms);
  CHECK(first.under_way == 100);
  CHECK(second.under_way == 150);
  CHECK(record.under_way() == 150);
  record.end(first, begin + 4ms);
  record.end(second, begin + 2ms);
  CHECK(record.under_way() == 0);
  const Distribution latency = record.latency();
  CHECK(latency.count == 2);
  CHECK(latency.sum == 5'000'000);
  CHECK(record.concurrency().max == 2);
  CHECK(record.last().size() == 2);
}

TEST_CASE("every sample of an epoch is in the figures, and bytes are those of the samples counted") {
  const TemporaryFolder folder;
  std::uint64_t stored = 0;
  for (unsigned i = 0; i < 96; ++i) {
    write_file(folder / "data" / (number_key(i) + ".bin"), std::string(100 + i, '.'));
    stored += 100 + i;
  }
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::mmap}) {
    CAPTURE(name(engine));
    LoaderOptions options = working(2, 8, [](std::byte, Parallel*) {});
    options.read_options.engine = engine;
    Loader loader(open(folder / "data"), options);
    while (loader.next()) {
    }
    const Stats stats = loader.stats();
    CHECK(stats.samples == 96);
    CHECK(stats.stored_bytes == stored);
    CHECK(stats.bytes_read >= stored);  // with what was read ahead of the next epoch
    CHECK(stats.batches_taken == 12);
    CHECK(histogram(stats, "data_wait").count == 12);
    CHECK(histogram(stats, "step").count >= 11);
    CHECK(histogram(stats, "sample").count >= 96);
    CHECK(histogram(stats, "request").count >= 96);
    CHECK(stats.slowest.size() == 10);
    CHECK(stats.outputs.size() == 1);
    CHECK(stats.outputs.front().name == "bin");
    CHECK(stats.outputs.front().decode.count() > 0);
    CHECK_FALSE(stats.levels.empty());
  }
}

TEST_CASE("the sums of histograms are the times of stages") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 64);
  Loader loader(open(folder / "data"), working(2, 8, [](std::byte, Parallel*) { std::this_thread::sleep_for(500us); }));
  while (loader.next()) {
  }
  const Stats stats = settled(loader);
  for (const char* name : {"decode", "transform"}) {
    CAPTURE(name);
    const auto stage = std::ranges::find(stats.stages, name, &StageStats::name);
    const auto rows = static_cast<double>(histogram(stats, name).sum);
    CHECK(rows == doctest::Approx(static_cast<double>(stage->busy.count())).epsilon(0.05));
  }
  std::chrono::nanoseconds of_outputs{};
  for (const OutputStats& output : stats.outputs) of_outputs += output.decode + output.transform;
  CHECK(static_cast<double>(of_outputs.count()) ==
        doctest::Approx(static_cast<double>(histogram(stats, "sample").sum - histogram(stats, "read").sum))
            .epsilon(0.05));
}

}  // namespace penstock::test::records_test
