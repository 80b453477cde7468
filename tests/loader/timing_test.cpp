// Stage times add up to wall time, and what the consumer waited for is attributed.
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#include "support/loading.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

const StageStats& stage(const Stats& stats, std::string_view name) {
  for (const StageStats& stage : stats.stages) {
    if (stage.name == name) return stage;
  }
  throw std::runtime_error("no such stage");
}

}  // namespace

TEST_CASE("workers' busy and stalled times add up to workers times wall time") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 400, .seed = 1, .workers = 1, .classes = 2});
  LoaderOptions options;
  options.batch_size = 16;
  options.workers = 2;
  options.engine.kind = EngineKind::direct;
  options.fields = {{"png", image::random_resized_crop(96) | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})}};
  Loader loader(open(folder / "icons"), options);
  loader.next();
  loader.reset_stats();
  for (int epoch = 0; epoch < 12; ++epoch) {
    while (loader.next()) {
    }
  }
  const Stats stats = loader.stats();
  double sum = seconds(stage(stats, "decode").stalled_in);
  for (const char* name : {"read", "decode", "transform", "deliver"}) sum += seconds(stage(stats, name).busy);
  const double wall = seconds(stats.wall);
  MESSAGE("wall " << wall << " s, two workers accounted for " << sum << " s");
  CHECK(sum > 2 * wall * 0.90);
  CHECK(sum < 2 * wall * 1.10);
  CHECK(seconds(stats.consumer_wait) + seconds(stats.consumer_busy) == doctest::Approx(wall).epsilon(0.01));

  double attributed = 0;
  for (const auto& [name, time] : stats.waited_for) attributed += seconds(time);
  CHECK(attributed == doctest::Approx(seconds(stats.consumer_wait)).epsilon(0.001));
  std::ostringstream table;
  table << stats;
  CHECK(table.str().find("transform") != std::string::npos);
}

TEST_CASE("a slow consumer does not wait, and the plan stalls for room") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 60);
  Loader loader(open(folder / "data"), {.batch_size = 4, .workers = 1, .prefetch = 1});
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  loader.reset_stats();
  while (loader.next()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Stats stats = loader.stats();
  CHECK(seconds(stats.consumer_busy) > 10 * seconds(stats.consumer_wait));
  CHECK(seconds(stage(stats, "plan").stalled_out) > 0.5 * seconds(stats.wall));
}
