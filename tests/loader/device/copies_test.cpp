// Tests that copies to a device run ahead of the consumer and beside its streams, and that no thread waits for them.
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/check_soon.hpp"
#include "support/device_loading.hpp"
#include "support/two_epochs.hpp"

namespace penstock::test::copies_test {

using namespace std::chrono_literals;

TEST_CASE("next() gives a batch before its copy is over, and a stream that waits for it reads it whole") {
  const Arrays data(64);
  std::promise<void> opened;
  const auto open = opened.get_future().share();
  const auto device = device_with([&](const HostWork&) { open.wait(); });
  Loader loader(data.dataset(), on(device));
  std::optional<Batch> batch = loader.next();
  const std::optional<Batch> second = loader.next();
  std::atomic<int> wrong{0}, seen{0};
  const auto stream = device->make_stream();
  batch->wait(stream->handle());
  const Field& field = (*batch)["npy"];
  device->enqueue(stream->handle(), [&wrong, &seen, values = field.as<float>()] {
    for (std::size_t row = 0; row < 8; ++row) wrong += values[row * 3] != -values[row * 3 + 2];
    ++seen;
  });
  CHECK(seen == 0);
  opened.set_value();
  const auto done = device->make_event();
  done->record(stream->handle());
  done->wait();
  CHECK(seen == 1);
  CHECK(wrong == 0);
}

TEST_CASE("a consumer that lets go at once, while its streams are still at work, reads nothing that was written over") {
  const Arrays data(400);
  std::atomic<unsigned> seed{1};
  const auto pause = [&] { std::this_thread::sleep_for(std::chrono::microseconds(std::minstd_rand(seed++)() % 300)); };
  const auto device = device_with([&](const HostWork&) { pause(); });
  LoaderOptions options = on(device);
  options.device_options.prefetch = 1;
  options.memory_options.reserved_batches = 1;
  std::atomic<int> wrong{0}, seen{0};
  const auto first = device->make_stream(), second = device->make_stream();
  {
    Loader loader(data.dataset(), options);
    for (int epoch = 0; epoch < 3; ++epoch) {
      while (const auto batch = loader.next()) {
        std::vector<float> expected;
        for (const std::uint64_t sample : batch->samples()) expected.push_back(static_cast<float>(sample));
        for (const StreamHandle stream : {first->handle(), second->handle()}) {
          batch->wait(stream);
          device->enqueue(stream, [&, values = (*batch)["npy"].as<float>(), expected] {
            pause();
            for (std::size_t row = 0; row < expected.size(); ++row) wrong += values[row * 3] != expected[row];
            ++seen;
          });
        }
      }
    }
  }
  for (const auto& stream : {first.get(), second.get()}) {
    const auto done = device->make_event();
    done->record(stream->handle());
    done->wait();
  }
  CHECK(seen == 2 * 3 * 50);
  CHECK(wrong == 0);
  CHECK(device->allocated() == 0);
}

TEST_CASE("copies run ahead by device_prefetch and no further, and holding more than held is an error") {
  const Arrays data(400);
  std::atomic<std::uint64_t> copies{0};
  const auto device = device_with([&](const HostWork&) { ++copies; });
  LoaderOptions options = on(device, 4);
  options.transforms = {{"npy", array::decode()}};
  options.device_options.prefetch = 3;
  Loader loader(data.dataset(), options);
  std::vector<Batch> kept{*loader.next()};
  for (int i = 0; i < 3000 && copies < 4; ++i) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(50ms);
  CHECK(copies == 1 + 3);
  kept.push_back(*loader.next());
  CHECK_THROWS_WITH(loader.next(), doctest::Contains("reserved_batches=2"));
  kept.pop_back();
  for (int i = 0; i < 50; ++i) CHECK(loader.next().has_value());
  CHECK(loader.stats().device_slabs == 3 + 2);
}

TEST_CASE("on a device held grows to held_max, in memory that was counted before") {
  const Arrays data(400);
  const auto device = device_with([](const HostWork&) {});
  LoaderOptions options = on(device, 4);
  options.transforms = {{"npy", array::decode()}};
  options.memory_options.reserved_batches = 1;
  options.memory_options.max_live_batches = 4;
  Loader loader(data.dataset(), options);
  const std::uint64_t one = loader.stats().device_bytes / loader.stats().device_slabs;
  CHECK(loader.stats().held_max_bytes == 3 * one);
  for (int round = 0; round < 3; ++round) {
    std::vector<Batch> kept;
    for (int i = 0; i < 4; ++i) kept.push_back(*loader.next());
    CHECK_THROWS_WITH(loader.next(), doctest::Contains("max_live_batches=4"));
    CHECK(loader.stats().device_slabs == options.device_options.prefetch + 4);
    CHECK(loader.stats().held_max_bytes == 0);
  }
}

TEST_CASE("the copy is a stage: its time is the device's, and what the consumer waited for adds up") {
  const Arrays data(160);
  const auto device = device_with([](const HostWork&) { std::this_thread::sleep_for(25ms); });
  LoaderOptions options = on(device);
  options.transforms = {{"npy", array::decode()}};
  check_soon([&] {
    Loader loader(data.dataset(), options);
    const Stats stats = stats_of_two_epochs(loader, "copy");
    const StageStats& copy = stats.stages.back();
    Attempt attempt;
    attempt.expect(seconds(copy.busy) > 0.8 * seconds(stats.wall), "the device rests");
    attempt.expect(seconds(copy.busy) < 1.2 * seconds(stats.wall), "copies are counted twice");
    attempt.expect(stats.data_wait_by_stage.back().second > stats.data_wait * 0.7, "the consumer waited for others");
    return attempt;
  });
}

TEST_CASE("copies go on while the consumer's stream works") {
  const Arrays data(240);
  std::atomic<bool> copying{false};
  const auto device = device_with([&](const HostWork&) {
    copying = true;
    std::this_thread::sleep_for(4ms);
    copying = false;
  });
  LoaderOptions options = on(device);
  options.transforms = {{"npy", array::decode()}};
  Loader loader(data.dataset(), options);
  const auto stream = device->make_stream();
  const auto done = device->make_event();
  std::atomic<int> beside{0};
  for (int i = 0; i < 28; ++i) {
    const auto batch = loader.next();
    batch->wait(stream->handle());
    device->enqueue(stream->handle(), [&] {
      bool seen = false;
      for (int slice = 0; slice < 12; ++slice) {
        std::this_thread::sleep_for(1ms);
        seen |= copying;
      }
      beside += seen;
    });
  }
  done->record(stream->handle());
  done->wait();
  CHECK(beside.load() > 14);  // fewer, where a copy takes the memory let go last, and waits for the last step
}

}  // namespace penstock::test::copies_test
