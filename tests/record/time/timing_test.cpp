// Tests that stage times add up to wall time, and that the consumer's waits are attributed.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <bench/synth/workload.hpp>
#include <loader/pipeline.hpp>
#include <storage/read/read_engine.hpp>

#include "support/check_soon.hpp"
#include "support/device_loading.hpp"
#include "support/slow_stages.hpp"

namespace penstock::test::timing_test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

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

std::chrono::nanoseconds waited(const Stats& stats, std::string_view name) {
  for (const auto& [stage, time] : stats.data_wait_by_stage) {
    if (stage == name) return time;
  }
  throw std::runtime_error("no such stage");
}

constexpr milliseconds kDelay{30};
constexpr std::array kDelayed{"read", "read ahead", "decode", "transform", "custom_transform", "copy"};

/// A dataset of tiny rows, of which the first of each batch is slow, and a consumer.
struct Scene {
  std::uint32_t rows, batches;
  milliseconds consumer{0};
  bool ahead = false, own = false, device = false;  ///< the stages that there are besides
  unsigned workers = 1;

  /// One epoch, in which stages take so long for a slow row, or a batch.
  Stats run(const std::map<std::string, milliseconds>& delays) const {
    const auto of = [&](const char* name) {
      const auto found = delays.find(name);
      return found == delays.end() ? 0ms : found->second;
    };
    const TemporaryFolder folder;
    for (std::uint32_t i = 0; i < rows * batches; ++i)
      write_file(folder / "data" / (number_key(i) + ".bin"), std::string(16, i % rows == rows / 2 ? kSlow : '.'));
    LoaderOptions options;
    options.batch_size = rows;
    options.workers = workers;
    options.prefetch = 1;
    options.transforms = {{"bin", decode(std::make_shared<SlowCodec>(of("decode"))) |
                                      transform(std::make_shared<SlowTransform>(of("transform")))}};
    if (own) options.batch_transform = [&](Batch&) { std::this_thread::sleep_for(of("custom_transform")); };
    if (device)
      options.device_options.opened = device_with([&](const HostWork&) { std::this_thread::sleep_for(of("copy")); });
    Loader loader(open(folder / "data"), options, SlowEngine::factory(ahead, of("read")));
    std::optional<Batch> last;  // whose copy is over after all others
    while (auto batch = loader.next()) {
      last = std::move(batch);
      std::this_thread::sleep_for(consumer);
    }
    last->synchronize();
    return loader.stats();
  }
};

}  // namespace

TEST_CASE("workers' busy and waiting times add up to workers times wall time") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 400, .seed = 1, .workers = 1, .classes = 2});
  LoaderOptions options;
  options.batch_size = 16;
  options.workers = 2;
  options.read_options.engine = EngineKind::in_worker;
  options.transforms = {
      {"png", image::random_resized_crop(96) | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})}};
  Stats stats;
  check_soon([&] {
    Loader loader(open(folder / "icons"), options);
    loader.next();
    loader.reset_stats();
    for (int epoch = 0; epoch < 12; ++epoch) {
      while (loader.next()) {
      }
    }
    stats = loader.stats();
    double sum = seconds(stage(stats, "decode").input_wait + stage(stats, "decode").room_wait);
    for (const char* name : {"read", "decode", "transform", "deliver"}) sum += seconds(stage(stats, name).busy);
    const double accounted = sum / (2 * seconds(stats.wall));
    MESSAGE("wall " << seconds(stats.wall) << " s, two workers accounted for " << sum << " s");
    Attempt attempt;
    attempt.expect(accounted > 0.90 && accounted < 1.10, std::to_string(accounted) + " of the time accounted for");
    return attempt;
  });
  const double wall = seconds(stats.wall);
  CHECK(seconds(stats.data_wait) + seconds(stats.step_time) == doctest::Approx(wall).epsilon(0.01));

  double attributed = 0;
  for (const auto& [name, time] : stats.data_wait_by_stage) attributed += seconds(time);
  CHECK(attributed == doctest::Approx(seconds(stats.data_wait)).epsilon(0.001));
  std::ostringstream table;
  table << stats;
  CHECK(table.str().find("transform") != std::string::npos);
}

TEST_CASE("a slow consumer does not wait, and the plan stalls for room") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 60);
  check_soon([&] {
    Loader loader(open(folder / "data"), {.batch_size = 4, .workers = 1, .prefetch = 1});
    loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    loader.reset_stats();
    while (loader.next()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Stats stats = loader.stats();
    const double wall = seconds(stats.wall);
    Attempt attempt;
    attempt.expect(seconds(stats.step_time) > 10 * seconds(stats.data_wait), "the consumer waited");
    attempt.expect(seconds(stage(stats, "plan").room_wait) > 0.5 * wall, "the plan had room");
    attempt.expect(seconds(stage(stats, "decode").room_wait) > 0.5 * wall, "decode had room");
    attempt.expect(seconds(stage(stats, "decode").input_wait) < 0.2 * wall, "decode had no input");
    return attempt;
  });
}

TEST_CASE("a stage's delay makes it busy, and the consumer waits for it alone, be it hidden, in part or not") {
  for (const std::string delayed : kDelayed) {
    CAPTURE(delayed);
    const bool ahead = delayed == "read ahead";
    const std::string name = ahead ? "read" : delayed;
    for (const milliseconds consumer : {0ms, 15ms, 45ms}) {
      CAPTURE(consumer.count());
      check_soon([&] {
        const std::uint32_t at_once = name == "copy" ? 6 : 0;  // copies that the consumer need not wait for
        const Scene scene{.rows = 4,
                          .batches = 8 + at_once,
                          .consumer = consumer,
                          .ahead = ahead,
                          .own = name == "custom_transform",
                          .device = name == "copy"};
        const Stats plain = scene.run({}), slow = scene.run({{name, kDelay}});
        const double wall = seconds(slow.wall), delays = (8 + at_once) * seconds(kDelay);
        Attempt attempt;
        const double busier = seconds(stage(slow, name).busy) - seconds(stage(plain, name).busy);
        attempt.expect(busier > 0.9 * delays, name + " is busy for " + std::to_string(busier) + " s more");
        const double shown = std::max(0.0, 8 * seconds(kDelay) - (8 + at_once) * seconds(consumer));
        attempt.expect(seconds(waited(slow, name)) > 0.75 * shown, "waited for " + name + " too little");
        for (const auto& [other, time] : slow.data_wait_by_stage) {
          if (other == name) continue;
          const double change = seconds(time - waited(plain, other)) / wall;
          attempt.expect(std::abs(change) < 0.05, other + " changes by " + std::to_string(change) + " of all");
        }
        return attempt;
      });
    }
  }
}

TEST_CASE("each stage of the line has a row, a share of the waits, and a delay that is tested above") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  LoaderOptions options = on(device_with());
  options.batch_transform = [](Batch&) {};
  Pipeline pipeline(open(folder / "data"), options, choose_engine);
  const Stats stats = pipeline.stats();
  CHECK(pipeline.stages().size() == 3);
  for (const auto& each : pipeline.stages()) {
    CHECK_NOTHROW(stage(stats, each->name()));
    CHECK_NOTHROW(waited(stats, each->name()));
  }
  CHECK(stats.stages.size() == stats.data_wait_by_stage.size());
  for (const StageStats& each : stats.stages) {
    CAPTURE(each.name);
    const bool of_the_rest = each.name == "plan" || each.name == "deliver";
    CHECK((of_the_rest || std::ranges::find(kDelayed, each.name) != kDelayed.end()));
  }
  CHECK(pipeline.stop());
}

TEST_CASE("one slow row in 64: the consumer waits for what is slow in it, while other workers have nothing to do") {
  for (const bool ahead : {false, true}) {
    CAPTURE(ahead);
    for (const std::string name : {"read", "decode", "transform"}) {
      CAPTURE(name);
      check_soon([&] {
        const Scene scene{.rows = 64, .batches = 6, .ahead = ahead, .workers = 2};
        const Stats stats = scene.run({{name, kDelay}});
        Attempt attempt;
        attempt.expect(waited(stats, name) > 0.9 * stats.data_wait,
                       name + " had " + std::to_string(seconds(waited(stats, name)) / seconds(stats.data_wait)));
        return attempt;
      });
    }
  }
}

}  // namespace penstock::test::timing_test
