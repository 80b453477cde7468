// The simulated pipeline beside rates that follow from its parts on paper.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <loader/batch/slab_count.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <loader/model/simulation.hpp>
#include <loader/prepare.hpp>
#include <penstock/gains.hpp>

namespace penstock::test::simulation_test {
namespace {

constexpr double kMs = 1e-3;

Demands rows(const RowDemand& row, std::size_t count = 1000) {
  Demands demands;
  demands.rows.assign(count, row);
  demands.row_bytes = 1000;
  demands.samples_per_s = 1;
  return demands;
}

LoaderOptions options(unsigned workers, unsigned prefetch = 2, std::uint32_t batch_size = 64) {
  LoaderOptions chosen;
  chosen.workers = workers;
  chosen.prefetch = prefetch;
  chosen.batch_size = batch_size;
  return chosen;
}

double rate(const Demands& demands, const MachineModel& machine, const LoaderOptions& chosen) {
  return simulated(demands, machine, chosen).samples_per_s;
}

}  // namespace

TEST_CASE("workers that wait in their rows give as many as there are of them") {
  const Demands demands = rows({.waits = 4 * kMs, .bytes = 1});
  for (const unsigned workers : {1U, 4U, 16U, 64U})
    CHECK(rate(demands, {.cores = 2}, options(workers)) == doctest::Approx(workers / (4 * kMs)).epsilon(0.02));
}

TEST_CASE("workers that compute give as many as there are cores, as fast as those are together") {
  const Demands demands = rows({.computes = 2 * kMs, .bytes = 1});
  const MachineModel machine{.cores = 4, .full_speed = 0.7};
  CHECK(rate(demands, machine, options(1)) == doctest::Approx(1 / (2 * kMs)).epsilon(0.02));
  CHECK(rate(demands, machine, options(2)) == doctest::Approx(2 * 0.9 / (2 * kMs)).epsilon(0.02));
  CHECK(rate(demands, machine, options(4)) == doctest::Approx(4 * 0.7 / (2 * kMs)).epsilon(0.02));
  CHECK(rate(demands, machine, options(16)) == doctest::Approx(4 * 0.7 / (2 * kMs)).epsilon(0.02));
  CHECK(simulated(demands, machine, options(4)).cores == doctest::Approx(0.7).epsilon(0.05));
}

TEST_CASE("storage gives its bytes a second, whoever reads") {
  Demands demands = rows({.reads = 1 * kMs, .bytes = 100'000});
  demands.storage = {.bytes_per_s = 50e6};
  CHECK(rate(demands, {.cores = 8}, options(8)) == doctest::Approx(500).epsilon(0.02));
  for (RowDemand& row : demands.rows) row.computes = 10 * kMs;  // 5 of the 8 workers, while others read
  CHECK(rate(demands, {.cores = 8}, options(8)) == doctest::Approx(500).epsilon(0.05));
  demands.reads_ahead = true;
  CHECK(rate(demands, {.cores = 8}, options(8)) == doctest::Approx(500).epsilon(0.02));
  CHECK(simulated(demands, {.cores = 8}, options(8)).bytes_per_s == doctest::Approx(50e6).epsilon(0.02));
}

TEST_CASE("answers that take their time go by how many are asked for at once") {
  Demands demands = rows({.bytes = 1'000});
  demands.storage = {.latency = 10 * kMs};
  demands.reads_ahead = true;
  LoaderOptions threads = options(1, 4);
  threads.read_options.engine = EngineKind::pread;
  threads.read_options.threads = 5;
  CHECK(rate(demands, {.cores = 1}, threads) == doctest::Approx(5 / (10 * kMs)).epsilon(0.02));
  threads.read_options.threads = 0;
  CHECK(rate(demands, {.cores = 1}, threads) == doctest::Approx(16 / (10 * kMs)).epsilon(0.02));

  LoaderOptions narrow = options(1, 4);  // a window for four rows
  narrow.read_options.read_ahead_bytes = 4'000;
  narrow.batch_size = 16;
  Demands long_rows = demands;
  for (RowDemand& row : long_rows.rows) row.bytes = 128 << 10;  // one to a task
  narrow.read_options.read_ahead_bytes = 4 * (128 << 10);
  CHECK(rate(long_rows, {.cores = 1}, narrow) == doctest::Approx(4 / (10 * kMs)).epsilon(0.02));
}

TEST_CASE("a consumer that takes longer binds, and then waits for nothing") {
  Demands demands = rows({.computes = 1 * kMs, .bytes = 1});
  demands.step = 200 * kMs;
  const Simulated slow = simulated(demands, {.cores = 2}, options(2));
  CHECK(slow.samples_per_s == doctest::Approx(64 / (200 * kMs)).epsilon(0.01));
  CHECK(slow.waited < 0.01);
  demands.step = 8 * kMs;  // a batch takes 32 ms
  const Simulated fast = simulated(demands, {.cores = 2}, options(2));
  CHECK(fast.samples_per_s == doctest::Approx(2000).epsilon(0.02));
  CHECK(fast.waited == doctest::Approx(0.75).epsilon(0.05));
  demands.step_computes = true;  // on the same two cores
  CHECK(rate(demands, {.cores = 2}, options(2)) == doctest::Approx(64 * 2 / (72 * kMs)).epsilon(0.05));
}

TEST_CASE("a consumer that takes batches gets no more rows than they have") {
  Demands demands = rows({.computes = 0.1 * kMs, .bytes = 1});
  demands.step = 20 * kMs;
  demands.fullness = 60.0 / 64;
  CHECK(rate(demands, {.cores = 2}, options(2)) == doctest::Approx(60 / (20 * kMs)).epsilon(0.01));
}

TEST_CASE("a stage behind the workers is one thread") {
  Demands demands = rows({.waits = 1 * kMs, .bytes = 1});
  demands.line = {30 * kMs, 50 * kMs};
  CHECK(rate(demands, {.cores = 8}, options(32)) == doctest::Approx(64 / (50 * kMs)).epsilon(0.02));
}

TEST_CASE("one giant in a hundred holds up few batches ahead, not many") {
  Demands demands = rows({.waits = 1 * kMs, .bytes = 1});
  for (std::size_t i = 0; i < demands.rows.size(); i += 100) demands.rows[i].waits = 200 * kMs;
  const double ideal = 16 / (2.99 * kMs);
  CHECK(rate(demands, {.cores = 1}, options(16, 1, 32)) < 0.6 * ideal);
  CHECK(rate(demands, {.cores = 1}, options(16, 64, 32)) > 0.9 * ideal);
}

TEST_CASE("forecasts are ratios of simulations, times what was measured") {
  Demands demands = rows({.computes = 2 * kMs, .bytes = 1});
  demands.samples_per_s = 450;  // the model says 500
  const Forecast forecast(demands, {.cores = 4}, options(1));
  CHECK(forecast.rate(options(1)) == doctest::Approx(450).epsilon(0.01));
  CHECK(forecast.rate(options(2)) == doctest::Approx(900).epsilon(0.02));
  CHECK(forecast.outlook(options(1)).limit == "the workers");
  CHECK(forecast.outlook(options(4)).limit == "the 4 cores");

  const std::vector<Gain> gains = gains_of(forecast);
  REQUIRE(!gains.empty());
  CHECK(gains[0].knob == "workers");
  CHECK(gains[0].value == "4");
  CHECK(gains[0].ratio == doctest::Approx(4).epsilon(0.03));
  CHECK(gains[0].text == "workers=4: +300 %, limited then by the 4 cores");
}

TEST_CASE("what the model leaves out slows the loader, not its consumer") {
  Demands demands = rows({.computes = 2 * kMs, .bytes = 1});
  demands.step = 100 * kMs;
  demands.samples_per_s = 250;  // the model says 500
  const Forecast forecast(demands, {.cores = 8}, options(1));
  CHECK(forecast.rate(options(1)) == doctest::Approx(250).epsilon(0.02));
  CHECK(forecast.rate(options(8)) == doctest::Approx(640).epsilon(0.02));  // the consumer's
}

TEST_CASE("what is known of nothing predicts nothing") {
  const Forecast forecast({}, {}, options(1));
  CHECK_FALSE(forecast.known());
  CHECK(forecast.rate(options(2)) == 0);
  CHECK(gains_of(forecast).empty());
}

TEST_CASE("a store that takes so many requests at a time gives more rows where each brings several") {
  Demands demands = rows({.bytes = 50'000});
  demands.reads_ahead = demands.from_store = true;
  demands.storage = {.latency = 100 * kMs, .at_once = 20, .sizes_tell = true};
  CHECK(rate(demands, {.cores = 8}, options(2)) == doctest::Approx(20 / (100 * kMs)).epsilon(0.02));
  demands.storage.rows = 4;
  CHECK(rate(demands, {.cores = 8}, options(2)) == doctest::Approx(4 * 20 / (100 * kMs)).epsilon(0.05));
  demands.storage.bytes_per_s = 10e6;  // their bytes still take what they take
  CHECK(rate(demands, {.cores = 8}, options(2)) == doctest::Approx(10e6 / 50'000).epsilon(0.05));
  demands.storage.bytes_per_s = 0;
  demands.storage.rows = 2.5;
  CHECK(rate(demands, {.cores = 8}, options(2)) == doctest::Approx(2.5 * 20 / (100 * kMs)).epsilon(0.05));
  demands.storage.rows = 1;
  demands.storage.at_once = 0;  // as many as there are slabs for: 256 rows and what is ready
  const double rows_ahead = 64.0 * (slab_count(options(2), std::uint64_t{1000}, ReadsAhead::of_store) -
                                    options(2).memory_options.reserved_batches);
  CHECK(rate(demands, {.cores = 8}, options(2)) == doctest::Approx(rows_ahead / (100 * kMs)).epsilon(0.1));
}

TEST_CASE("a block shuffle is a gain where fewer requests are one, and where its requests can be told") {
  Demands demands = rows({.bytes = 50'000});
  demands.reads_ahead = demands.from_store = true;
  demands.storage = {.latency = 100 * kMs, .at_once = 20, .sizes_tell = true};
  demands.blocks = {.shuffle_block = 4, .requests = 0.95, .requests_then = 0.25};
  demands.samples_per_s = 200;
  LoaderOptions base = options(2);
  base.shuffle = true;
  base.read_options.engine = EngineKind::store;
  const auto offered = [&]() -> std::optional<Gain> {
    for (const Gain& gain : gains_of(Forecast(demands, {.cores = 8}, base)))
      if (gain.knob == "shuffle_block") return gain;
    return std::nullopt;
  };
  const auto gain = offered();
  REQUIRE(gain);
  CHECK(gain->value == "4");
  CHECK(gain->options.shuffle_block == 4);
  CHECK(gain->ratio == doctest::Approx(3.8).epsilon(0.06));
  CHECK(gain->text.find("one request for about 4 samples instead of 4") != std::string::npos);
  demands.storage.sizes_tell = false;
  CHECK_FALSE(offered());
  demands.storage.sizes_tell = true;
  base.shuffle_block = 4;
  CHECK_FALSE(offered());
  base.shuffle_block = 0;
  demands.step = 10;  // the consumer's
  CHECK_FALSE(offered());
}

}  // namespace penstock::test::simulation_test
