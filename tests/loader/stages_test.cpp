// Tests each stage that hands batches on, where it is the last of the line.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>

#include <doctest/doctest.h>

#include <loader/batch/queued_stage.hpp>
#include <loader/pipeline.hpp>
#include <storage/read/read_engine.hpp>

#include "support/device_loading.hpp"

namespace penstock::test::stages_test {
namespace {

/// A line that has begun, of batches of four.
struct Line {
  Line(bool own, bool device) {
    write_arrays(folder / "data", 24);
    LoaderOptions options = on(device ? device_with() : nullptr, 4);
    if (own) options.batch_transform = [](Batch&) {};
    pipeline = std::make_shared<Pipeline>(open(folder / "data"), options, choose_engine);
    Pipeline::start(pipeline);
  }
  ~Line() { CHECK(pipeline->stop()); }
  Stage& last() const { return *pipeline->stages().back(); }

  const TemporaryFolder folder;
  std::shared_ptr<Pipeline> pipeline;
};

template <typename Check>
void for_each_line(Check check) {
  for (const bool own : {false, true}) {
    for (const bool device : {false, true}) {
      CAPTURE(own);
      CAPTURE(device);
      const Line line(own, device);
      REQUIRE(line.pipeline->stages().size() == 1U + (own ? 1U : 0U) + (device ? 1U : 0U));
      check(*line.pipeline, line.last());
    }
  }
}

/// Counts what becomes of batches.
class CountingStage final : public QueuedStage {
 public:
  explicit CountingStage(Stage& before) : QueuedStage(before, "count", 1) {}
  ~CountingStage() override { join(std::chrono::minutes(1)); }
  std::counting_semaphore<> worked{0};
  std::atomic<int> discarded{0};

 private:
  void work(Batch&) override { worked.release(); }
  void discard(const BatchResult&) override { ++discarded; }
};

}  // namespace

TEST_CASE("a stage with a queue gives each batch to somebody, or discards it: what waits for room too") {
  const Line line(false, false);
  CountingStage stage(line.last());
  stage.start({}, {});
  const std::uint64_t first = 1;  // generation of the loader's beginning
  stage.go_to({}, first);
  REQUIRE(stage.take({}));
  for (int batch = 0; batch < 3; ++batch) stage.worked.acquire();  // one was taken, one is ready, one waits for room
  line.pipeline->set_epoch(1);
  stage.go_to({}, first + 1);
  REQUIRE(stage.take({}));
  for (int batch = 0; batch < 3; ++batch) stage.worked.acquire();
  stage.close();
  CHECK(stage.join(std::chrono::minutes(1)));
  CHECK(!stage.worked.try_acquire());
  CHECK(stage.discarded == 4);
}

TEST_CASE("every stage gives batches in order, and counts those in the consumer's hands") {
  for_each_line([](Pipeline& pipeline, Stage& last) {
    for (std::uint64_t number = 0; number < 4; ++number) {
      const std::optional<BatchResult> result = last.take({});
      REQUIRE(result);
      CHECK(result->failure == nullptr);
      CHECK(result->batch.number() == number);
      CHECK(result->journey.passed.size() == pipeline.stages().size() - 1);
      CHECK(last.pool().lent() == 1);
    }
    CHECK(last.pool().lent() == 0);
  });
}

TEST_CASE("every stage goes to another position, and what it gives to a stage behind it is not the consumer's") {
  for_each_line([](Pipeline& pipeline, Stage& last) {
    REQUIRE(last.take({}));
    pipeline.set_epoch(3);
    const std::uint64_t first = 1;  // generation of the loader's beginning
    CHECK(!last.take_of(first));
    const std::optional<BatchResult> result = last.take_of(first + 1);
    REQUIRE(result);
    CHECK(result->batch.epoch() == 3);
    CHECK(result->batch.number() == 0);
    CHECK(last.pool().lent() == 0);
  });
}

TEST_CASE("every stage that failed gives what is ready, then throws the failure each time") {
  for_each_line([](Pipeline&, Stage& last) {
    REQUIRE(last.take({}));
    last.fail(std::make_exception_ptr(Error::resource("over")));
    const auto drain = [&] {
      while (last.take({})) {
      }
    };
    for (int again = 0; again < 2; ++again) CHECK_THROWS_WITH_AS(drain(), doctest::Contains("over"), Error);
    CHECK(!last.take_of(1));
  });
}

TEST_CASE("every stage that is closed gives nothing more") {
  for_each_line([](Pipeline& pipeline, Stage& last) {
    REQUIRE(last.take({}));
    CHECK(pipeline.stop());
    CHECK(!last.take({}));
    CHECK(!last.take_of(1));
  });
}

}  // namespace penstock::test::stages_test
