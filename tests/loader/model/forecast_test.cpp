// What the model predicts from a run of a real loader, beside runs of others.
#include <thread>

#include <doctest/doctest.h>

#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <penstock/loader.hpp>

#include "support/throttled_engine.hpp"
#include "support/working_codec.hpp"

namespace penstock::test::forecast_test {
namespace {

using namespace std::chrono_literals;

// 400 values of so many bytes, each decoded in 4 ms without a core.
Stats stats_of(const LoaderOptions& options, std::size_t bytes, const Loader::EngineFactory& engine = {}) {
  const TemporaryFolder folder;
  for (unsigned i = 0; i < 400; ++i)
    write_file(folder / "data" / (number_key(i) + ".bin"), std::string(bytes + (i % 3 == 0 ? bytes : 0), '.'));
  const Dataset dataset = open(folder / "data");
  Loader loader = engine ? Loader(dataset, options, engine) : Loader(dataset, options);
  while (loader.next()) {
  }
  return loader.stats();
}

LoaderOptions napping(unsigned workers, std::chrono::microseconds nap) {
  LoaderOptions options = working(workers, 16, [=](std::byte, Parallel*) { std::this_thread::sleep_for(nap); });
  options.read_options.threads = 64;
  return options;
}

double rate_of(const Stats& stats) {
  return static_cast<double>(stats.samples) / std::chrono::duration<double>(stats.wall).count();
}

Forecast forecast_of(const LoaderOptions& options, const Stats& stats) {
  const MachineModel machine{.cores = 2};
  LoaderOptions known = options;
  known.read_options.engine = stats.engine;
  return {demands_of(stats, machine, options.batch_size), machine, known};
}

}  // namespace

TEST_CASE("rows that wait in the workers are recorded as that") {
  const LoaderOptions options = napping(4, 16ms);  // long beside what a row costs, with a sanitizer too
  const Stats stats = stats_of(options, 1);
  REQUIRE(!stats.last_rows.empty());
  CHECK(stats.last_rows.size() <= 1024);
  const Demands demands = demands_of(stats, {.cores = 2}, options.batch_size);
  REQUIRE(!demands.rows.empty());
  double waits = 0;
  for (const RowDemand& row : demands.rows) waits += row.waits / static_cast<double>(demands.rows.size());
  CHECK(waits > 13e-3);
  const Forecast forecast = forecast_of(options, stats);
  LoaderOptions more = options;
  more.workers = 16;
  CHECK(forecast.rate(more) > 2 * forecast.rate(options));
}

TEST_CASE("storage that reads ahead is told apart by what it gives") {
  const LoaderOptions options = napping(2, 0us);
  const auto factory = ThrottledEngine::factory({.bytes_per_s = 20e6});
  const Stats stats = stats_of(options, 20'000, factory);
  const Demands demands = demands_of(stats, {.cores = 2}, options.batch_size);
  CHECK(demands.reads_ahead);
  CHECK(demands.storage.bytes_per_s == doctest::Approx(20e6).epsilon(0.25));
  const Forecast forecast = forecast_of(options, stats);
  LoaderOptions more = options;
  more.workers = 8;
  CHECK(forecast.rate(more) == doctest::Approx(rate_of(stats)).epsilon(0.1));
  CHECK(forecast.outlook(options).limit.find("storage bandwidth at ") == 0);
}

}  // namespace penstock::test::forecast_test
