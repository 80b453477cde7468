// Tests a user's step on whole batches: it runs ahead of the consumer, in one thread, and changes nothing else.
#include <atomic>
#include <condition_variable>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "support/check_soon.hpp"
#include "support/loading.hpp"
#include "support/two_epochs.hpp"

namespace penstock::test::batch_transform_test {

using namespace std::chrono_literals;

namespace {

LoaderOptions with(std::function<void(Batch&)> on_batch, std::uint32_t batch_size = 8) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.workers = 2;
  options.batch_transform = std::move(on_batch);
  return options;
}

void nothing(Batch&) {}

}  // namespace

TEST_CASE("batch_transform changes values in place and attaches what it makes, and the order is as without it") {
  const Arrays data(100);
  Loader plain(data.dataset(), with({}));
  std::vector<std::uint64_t> expected = batch_digests(plain), later = batch_digests(plain);
  expected.insert(expected.end(), later.begin(), later.end());
  std::set<std::thread::id> threads;
  Loader loader(data.dataset(), with([&](Batch& batch) {
                  threads.insert(std::this_thread::get_id());
                  auto* first = reinterpret_cast<float*>(batch["npy"].values.data);
                  batch.attach(std::make_shared<float>(*first));
                  *first = -1;
                }));
  std::vector<std::uint64_t> digests;
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (const auto batch = loader.next()) {
      CHECK((*batch)["npy"].as<float>()[0] == -1);
      auto* first = reinterpret_cast<float*>((*batch)["npy"].values.data);
      *first = *std::static_pointer_cast<float>(batch->attached());
      Digest digest;
      digest.add(*batch);
      digests.push_back(digest.value());
    }
  }
  CHECK(digests == expected);
  CHECK(threads.size() == 1);
  CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("it runs ahead of the consumer, by prefetch and the one it is at, and no further") {
  const Arrays data(200);
  std::atomic<int> calls{0};
  LoaderOptions options = with([&](Batch&) { ++calls; });
  options.prefetch = 3;
  Loader loader(data.dataset(), options);
  const auto batch = loader.next();
  for (int i = 0; i < 3000 && calls < 5; ++i) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(50ms);
  CHECK(calls == 1 + 3 + 1);
}

TEST_CASE("the position is the consumer's: what was run ahead is neither saved nor lost") {
  const Arrays data(100);
  Loader plain(data.dataset(), with({}));
  const auto epoch = batch_digests(plain);
  Loader loader(data.dataset(), with(nothing));
  loader.next();
  loader.next();
  std::this_thread::sleep_for(20ms);
  const LoaderState state = loader.state();
  CHECK(state.batch == 2);
  Loader restored(data.dataset(), with(nothing));
  restored.next();
  restored.restore(state);
  CHECK(batch_digests(restored) == std::vector(epoch.begin() + 2, epoch.end()));
  loader.set_epoch(0);
  CHECK(batch_digests(loader) == epoch);
  int taken = 0;
  for (const Batch& batch : loader) {
    CHECK(batch.epoch() == 1);
    if (++taken == 2) break;
  }
  for (const Batch& batch : loader) {
    CHECK(batch.epoch() == 2);
    CHECK(batch.number() == 0);
    break;
  }
  Digest again;
  again.add(loader.at(0, 5));
  CHECK(again.value() == epoch[5]);
}

TEST_CASE("at() applies it too, in the thread of its caller") {
  const Arrays data(20);
  Loader loader(data.dataset(), with([](Batch& batch) {
                  batch.attach(std::make_shared<std::thread::id>(std::this_thread::get_id()));
                }));
  CHECK(*std::static_pointer_cast<std::thread::id>(loader.at(0, 1).attached()) == std::this_thread::get_id());
  CHECK(*std::static_pointer_cast<std::thread::id>(loader.next()->attached()) != std::this_thread::get_id());
}

TEST_CASE("what it throws is what next() throws for that batch, of any type, and the next batch follows") {
  const Arrays data(40);
  Loader loader(data.dataset(), with([](Batch& batch) {
                  if (batch.number() == 1) throw std::out_of_range("one");
                  if (batch.number() == 2) throw 2;
                }));
  CHECK(loader.next()->number() == 0);
  CHECK_THROWS_WITH_AS(loader.next(), "one", std::out_of_range);
  CHECK_THROWS_AS(loader.next(), int);
  CHECK(loader.next()->number() == 3);
}

TEST_CASE("failures of the workers pass it by, and bad samples are counted as without it") {
  const Arrays data(40);
  write_file(data.folder / "data" / (number_key(9) + ".npy"), "\x93NUMPY");
  LoaderOptions options = with([](Batch& batch) { CHECK(batch.number() != 1); });
  options.shuffle = false;
  Loader loader(data.dataset(), options);
  CHECK(loader.next()->number() == 0);
  CHECK_THROWS_AS(loader.next(), Error);
  CHECK(loader.next()->number() == 2);
  options.batch_transform = nothing;
  options.on_error = OnError::mark;
  Loader marking(data.dataset(), options);
  while (marking.next()) {
  }
  CHECK(marking.stats().bad_samples == 1);
}

TEST_CASE("the consumer may hold as many batches as without it; one more is an error, not a deadlock") {
  const Arrays data(400);
  std::vector<Batch> kept;
  {
    Loader loader(data.dataset(), with(nothing, 4));
    kept = {*loader.next(), *loader.next()};
    CHECK_THROWS_WITH(loader.next(), doctest::Contains("reserved_batches=2"));
    kept.pop_back();
    for (int i = 0; i < 50; ++i) CHECK(loader.next().has_value());
  }
  // Batches that the step itself keeps are the program's, from when they are delivered or discarded.
  std::vector<Batch> hoard;
  std::atomic<bool> hoarding{true};
  Loader loader(data.dataset(), with(
                                    [&](Batch& batch) {
                                      if (hoarding) hoard.push_back(batch);
                                    },
                                    4));
  loader.next();
  loader.next();
  CHECK_THROWS_WITH(loader.next(), doctest::Contains("reserved_batches=2"));
  hoarding = false;
  loader.set_epoch(1);
  CHECK_THROWS_WITH(loader.next(), doctest::Contains("batches, as many as reserved_batches=2"));
  hoard.clear();
  CHECK(loader.next()->epoch() == 1);
}

TEST_CASE("its times stand in a stage of their own, and what the consumer waited for adds up") {
  const Arrays data(160);
  LoaderOptions options = with([](Batch&) { std::this_thread::sleep_for(5ms); });
  check_soon([&] {
    Loader loader(data.dataset(), options);
    const Stats stats = stats_of_two_epochs(loader, "custom_transform");
    const StageStats& own = stats.stages.back();
    const double wall = seconds(stats.wall);
    Attempt attempt;
    attempt.expect(seconds(own.busy) > 0.8 * wall, "the step rests");
    attempt.expect(seconds(own.busy + own.input_wait + own.room_wait) == doctest::Approx(wall).epsilon(0.2),
                   "its times do not add up");
    attempt.expect(stats.data_wait_by_stage.back().second > stats.data_wait * 0.7, "the consumer waited for others");
    return attempt;
  });
  Loader plain(data.dataset(), with({}));
  CHECK(plain.stats().stages.back().name == "deliver");
  CHECK(plain.stats().data_wait_by_stage.back().first == "deliver");
}

TEST_CASE("a loader destroyed at random moments waits for its step, and leaves no thread and no batch behind") {
  const Arrays data(64);
  const Dataset dataset = packed(data.dataset(), data.folder / "tar", "tar");
  std::mt19937 random(7);
  std::atomic<int> inside{0}, alive{0};
  struct Counted {
    explicit Counted(std::atomic<int>& n) : count(n) { ++count; }
    ~Counted() { --count; }
    std::atomic<int>& count;
  };
  for (int round = 0; round < 500; ++round) {
    LoaderOptions options = with([&](Batch& batch) {
      ++inside;
      batch.attach(std::make_shared<Counted>(alive));
      if (batch.number() == 3) std::this_thread::sleep_for(200us);
      --inside;
      if (batch.number() == 5) throw std::runtime_error("five");
    });
    options.batch_size = static_cast<std::uint32_t>(1 + random() % 16);
    options.prefetch = static_cast<unsigned>(1 + random() % 4);
    Loader loader(dataset, options);
    try {
      for (auto take = random() % 8; take > 0; --take) loader.next();
    } catch (const std::runtime_error&) {
    }
    if (random() % 3 == 0) loader.set_epoch(random() % 3);
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
  }
  CHECK(inside == 0);
  CHECK(alive == 0);
}

TEST_CASE("a loader that its own step destroys ends too") {
  const Arrays data(64);
  auto loader = std::make_shared<std::unique_ptr<Loader>>();
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false, destroyed = false;
  *loader = std::make_unique<Loader>(data.dataset(), with([&, loader](Batch& batch) {
                                       if (batch.number() != 0) return;
                                       std::unique_lock lock(mutex);
                                       changed.wait(lock, [&] { return begun; });
                                       loader->reset();
                                       destroyed = true;
                                       changed.notify_all();
                                     }));
  std::unique_lock lock(mutex);
  begun = true;
  changed.notify_all();
  CHECK(changed.wait_for(lock, 60s, [&] { return destroyed; }));
}

}  // namespace penstock::test::batch_transform_test
