// Tests what a consumer sees: batches, their values, limits and misuse.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <device/device.hpp>
#include <formats/lists/number_table.hpp>
#include <penstock/sampling.hpp>

#include "support/loading.hpp"

namespace penstock::test::loader_test {

TEST_CASE("a batch has the values, labels and keys of its samples") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 9);
  Loader loader(open(folder / "data"), {.batch_size = 4, .workers = 2});
  std::uint64_t number = 0;
  for (const Batch& batch : loader) {
    REQUIRE(batch["npy"].values.shape == Shape{batch.size(), 3});
    const auto values = batch["npy"].as<float>();
    const auto labels = batch["cls"].as<std::int64_t>();
    for (std::uint32_t row = 0; row < batch.size(); ++row, ++number) {
      CHECK(batch.keys()[row] == number_key(number));
      CHECK(batch.samples()[row] == number);
      CHECK(values[row * 3] == static_cast<float>(number));
      CHECK(values[row * 3 + 2] == -static_cast<float>(number));
      CHECK(labels[row] == static_cast<std::int64_t>(number % 10));
    }
  }
  CHECK(number == 9);
  CHECK(loader.batches() == 3);
}

TEST_CASE("ragged rows are values and offsets, whether their lengths are known before they are read or not") {
  const TemporaryFolder folder;
  for (int i = 0; i < 20; ++i) {
    write_file(folder / "data" / (number_key(static_cast<std::uint64_t>(i)) + ".txt"),
               std::string(static_cast<std::size_t>(i * 7 % 13), 'a'));
    write_file(folder / "data" / (number_key(static_cast<std::uint64_t>(i)) + ".cls"), "1");
  }
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
    LoaderOptions options;
    options.batch_size = 6;
    options.workers = 3;
    options.read_options.engine = engine;
    options.transforms = {{"known", field("txt") | raw()}, {"txt", Chain{}}};
    Loader loader(open(folder / "data"), options);
    int number = 0;
    while (const auto batch = loader.next()) {
      for (const char* name : {"known", "txt"}) {
        const Field& field = (*batch)[name];
        REQUIRE(field.offsets.size() == batch->size() + 1);
        for (std::uint32_t row = 0; row < batch->size(); ++row) {
          CHECK(field.offsets[row + 1] - field.offsets[row] == (number + static_cast<int>(row)) * 7 % 13);
        }
        const auto all = field.as<char>();
        CHECK(std::string(all.begin(), all.end()) == std::string(all.size(), 'a'));
      }
      number += static_cast<int>(batch->size());
    }
    CHECK(number == 20);
  }
}

TEST_CASE("of alternative fields the first that a sample has is delivered, also when it is empty") {
  const TemporaryFolder folder;
  write_file(folder / "data/a.aux", "");
  write_file(folder / "data/a.txt", "abc");
  write_file(folder / "data/b.txt", "de");
  LoaderOptions options;
  options.transforms = {{"text", field("aux|txt") | raw()}};
  Loader loader(open(folder / "data"), options);
  const auto batch = loader.next();
  const auto offsets = (*batch)["text"].offsets;
  CHECK(std::vector(offsets.begin(), offsets.end()) == std::vector<std::int64_t>{0, 0, 2});
}

TEST_CASE("max_items bounds a ragged row, and names the sample that is longer") {
  const TemporaryFolder folder;
  write_file(folder / "data/a.txt", "12345");
  write_file(folder / "data/b.txt", "123456789");
  LoaderOptions options;
  options.memory_options.max_items = 6;
  options.transforms = {{"txt", raw()}};
  Loader loader(open(folder / "data"), options);
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("sample b"), Error);
}

TEST_CASE("rows that a batch pads to more than there can be are an error that names the longest one") {
  const TemporaryFolder folder;
  const std::vector<float> item(65536);
  for (std::uint64_t i = 0; i < 64; ++i)
    write_file(folder / "data" / (number_key(i) + ".npy"),
               npy_file(i == 41 ? item : std::vector<float>(), i == 41 ? "(1, 65536)" : "(0, 65536)"));
  LoaderOptions options;
  options.batch_size = 64;
  options.transforms = {{"npy", array::decode({.ragged = true}) | pad(0, {.multiple_of = 1 << 24})}};
  Loader loader(open(folder / "data"), options);
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("sample s000041"), Error);
}

TEST_CASE("exactly as many workers as asked for decode") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 400);
  for (const unsigned workers : {1U, 2U, 7U}) {
    LoaderOptions options;
    options.batch_size = 50;
    options.workers = workers;
    Loader loader(open(folder / "data"), options);
    std::map<std::uint64_t, int> counts;
    for (int epoch = 0; epoch < 40 && loader.stats().workers_observed < workers; ++epoch) count_samples(loader, counts);
    CHECK(loader.stats().workers_observed == workers);
  }
}

TEST_CASE("holding every slab and asking for more is an error that names held, and letting one go cures it") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 100);
  LoaderOptions options;
  options.batch_size = 2;
  options.memory_options.reserved_batches = 3;
  Loader loader(open(folder / "data"), options);
  std::vector<Batch> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(*loader.next());
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("reserved_batches"), Error);
  CHECK(kept[0]["npy"].as<float>()[3] == 1.0F);
  kept.erase(kept.begin());
  CHECK(loader.next()->keys()[0] == number_key(6));
}

TEST_CASE("held grows to held_max, in memory that was counted before and is used again") {
  const Arrays data(200);
  LoaderOptions options{.batch_size = 2, .memory_options = {.reserved_batches = 2, .max_live_batches = 5}};
  Loader loader(data.dataset(), options);
  const Stats before = loader.stats();
  CHECK(before.held_max_bytes == 3 * (before.slab_bytes / before.slabs));
  for (int round = 0; round < 4; ++round) {
    std::vector<Batch> kept;
    for (int i = 0; i < 5; ++i) kept.push_back(*loader.next());
    for (int again = 0; again < 2; ++again)
      CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("max_live_batches=5 (reserved_batches=2)"), Error);
    for (std::uint64_t i = 0; i < 5; ++i) {
      CHECK(kept[i]["npy"].as<float>()[0] == static_cast<float>(10 * static_cast<unsigned>(round) + 2 * i));
    }
    const Stats stats = loader.stats();
    CHECK(stats.slabs == before.slabs + 3);
    CHECK(stats.slab_bytes == before.slab_bytes + before.held_max_bytes);
    CHECK(stats.held_max_bytes == 0);
  }
  std::map<std::uint64_t, int> counts;
  loader.set_epoch(0);
  count_samples(loader, counts);
  CHECK(counts.size() == 200);
}

TEST_CASE("the numbers of draws are let go of once a loader is made") {
  const Arrays data(8);
  const std::vector<double> weights{1, 2, 3, 4, 5, 6, 7, 8};
  auto draws = std::make_shared<const Draws>(drawn_by(Draws::Kind::weighted, weights));
  const std::weak_ptr<const NumberTable> numbers = draws->numbers;
  Loader loader(data.dataset(), {.batch_size = 4, .shuffle = true, .sampler = std::move(draws)});
  CHECK(numbers.expired());
  REQUIRE(loader.options().sampler != nullptr);
  CHECK(loader.options().sampler->kind == Draws::Kind::weighted);
  CHECK(loader.next());
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), loader.options()), doctest::Contains("weights: the numbers are missing"),
                       Error);
}

TEST_CASE("held_max is held unless it is given, and not less") {
  const Arrays data(8);
  CHECK(Loader(data.dataset(), {.memory_options = {.reserved_batches = 3}}).options().memory_options.max_live_batches ==
        3);
  CHECK(Loader(data.dataset(), {.memory_options = {.reserved_batches = 3}}).stats().held_max_bytes == 0);
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), {.memory_options = {.reserved_batches = 3, .max_live_batches = 2}}),
                       doctest::Contains("max_live_batches"), Error);
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), {.memory_options = {.max_live_batches = 1U << 31}}),
                       doctest::Contains("max_live_batches"), Error);
}

TEST_CASE("batches outlive their loader and its dataset") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  std::optional<Batch> batch;
  {
    Loader loader(open(folder / "data"), {.batch_size = 4});
    batch = loader.next();
  }
  CHECK(batch->keys()[3] == number_key(3));
  CHECK((*batch)["npy"].as<float>()[9] == 3.0F);
}

TEST_CASE("wrong options fail in the constructor") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  const Dataset dataset = open(folder / "data");
  const auto refuses = [&](auto change, const char* word) {
    LoaderOptions options;
    change(options);
    CHECK_THROWS_WITH_AS(Loader(dataset, options), doctest::Contains(word), Error);
  };
  refuses([](LoaderOptions& o) { o.batch_size = 0; }, "batch_size");
  refuses([](LoaderOptions& o) { o.prefetch = 0; }, "prefetch");
  refuses([](LoaderOptions& o) { o.memory_options.reserved_batches = 0; }, "reserved_batches");
  refuses([](LoaderOptions& o) { o.rank = 1; }, "rank");
  refuses([](LoaderOptions& o) { o.max_error_rate = 2; }, "max_errors");
  refuses([](LoaderOptions& o) { o.subset = {{4}}; }, "subset");
  refuses([](LoaderOptions& o) { o.timeout = std::chrono::milliseconds(-1); }, "timeout");
  refuses([](LoaderOptions& o) { o.timeout = std::chrono::milliseconds::min(); }, "timeout");
  refuses([](LoaderOptions& o) { o.transforms = {{"jpg", raw()}}; }, "jpg");
}

TEST_CASE("the largest numbers that options take neither overflow nor end a wait at once") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  const Dataset dataset = open(folder / "data");
  constexpr unsigned kMost = std::numeric_limits<unsigned>::max();
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint64_t>::max();
  const auto refuses = [&](auto change, const char* word) {
    LoaderOptions options{.workers = 1};
    change(options);
    CHECK_THROWS_WITH_AS(Loader(dataset, options), doctest::Contains(word), Error);
  };
  refuses([](LoaderOptions& o) { o.prefetch = kMost; }, "prefetch must be at most");
  refuses([](LoaderOptions& o) { o.memory_options.reserved_batches = kMost; },
          "reserved_batches and max_live_batches must be at most");
  refuses([](LoaderOptions& o) { o.device_options.prefetch = kMost; }, "device_options.prefetch must be at most");
  refuses([](LoaderOptions& o) { o.batch_size = kMost, o.prefetch = 1 << 16; }, "than a process can address");
  refuses(
      [](LoaderOptions& o) {
        o.memory_options.max_items = kMostBytes;
        o.transforms = {{"cls", raw()}};
      },
      "lower batch_size, prefetch, reserved_batches or max_items");
  refuses([](LoaderOptions& o) { o.cache.kind = CacheKind::encoded, o.cache.limit = kMostBytes; }, "cannot map");

  using std::chrono::milliseconds;
  for (const milliseconds timeout :
       {milliseconds::max(), milliseconds::max() - milliseconds(1), milliseconds(std::chrono::hours(24 * 365 * 290))}) {
    for (const bool looks_up : {false, true}) {
      LoaderOptions options{.batch_size = 4, .workers = 1, .timeout = timeout};
      options.read_options.read_ahead_bytes = options.memory_options.block_cache_bytes = kMostBytes;
      options.read_options.engine = EngineKind::pread;
      for (const bool own_step : {false, true}) {
        if (own_step) options.batch_transform = [](Batch&) {};
        Loader loader(dataset, options);
        const std::function<void()> look = looks_up ? [] {} : std::function<void()>();
        CHECK(loader.next(look).has_value());
        CHECK(loader.next(look).has_value());
        CHECK_FALSE(loader.next(look).has_value());
      }
    }
  }
}

TEST_CASE("stats may be asked for from another thread while the consumer restores, jumps and fails") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  write_file(folder / "data" / (number_key(7) + ".npy"), "\x93NUMPY");
  LoaderOptions options{.batch_size = 4, .shuffle = true, .workers = 2};
  options.on_error = OnError::mark;
  options.max_error_rate = 1;
  options.cache.kind = CacheKind::encoded;
  options.cache.limit = 1 << 20;
  options.batch_transform = [](Batch&) {};
  options.read_options.engine = EngineKind::pread;
  options.device_options.opened = open_device("host");
  Loader loader(open(folder / "data"), options);
  LoaderState own = loader.state(), foreign = own;
  foreign.transforms = std::string(300, 'x');
  foreign.seed = 9;
  const std::set<std::string> whole{"", loader.restore(foreign)};
  std::atomic<bool> ended{false};
  std::atomic<int> torn{0}, asked{0};
  std::thread other([&] {
    while (!ended.load()) {
      const Stats stats = loader.stats();
      if (!whole.contains(stats.notes)) ++torn;
      ++asked;
    }
  });
  for (int round = 0; round < 50 || asked.load() < 50; ++round) {
    loader.restore(round % 2 == 0 ? own : foreign);
    for (int batch = 0; batch < 3; ++batch) CHECK(loader.next().has_value());
    loader.set_epoch(static_cast<std::uint64_t>(round));
    loader.at(0, 1);
    loader.reset_stats();
  }
  ended = true;
  other.join();
  CHECK(torn == 0);
}

TEST_CASE("a subset delivers those samples in that order") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 10);
  LoaderOptions options;
  options.subset = {{7, 2, 5}};
  Loader loader(open(folder / "data"), options);
  const auto batch = loader.next();
  CHECK(std::vector(batch->samples().begin(), batch->samples().end()) == std::vector<std::uint64_t>{7, 2, 5});
}

TEST_CASE("a sample without a requested field raises by name, or is left out and counted") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 6);
  std::filesystem::remove(folder / "data" / (number_key(4) + ".cls"));
  const Dataset dataset = open(folder / "data");
  LoaderOptions options;
  CHECK_THROWS_WITH_AS(Loader(dataset, options), doctest::Contains(number_key(4).c_str()), Error);
  options.missing = Missing::exclude;
  Loader loader(dataset, options);
  std::map<std::uint64_t, int> counts;
  count_samples(loader, counts);
  CHECK(counts.size() == 5);
  CHECK_FALSE(counts.contains(4));
  CHECK(loader.stats().excluded_samples == 1);
}

TEST_CASE("a loader used after fork() says so at once") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 8);
  Loader loader(open(folder / "data"), {.batch_size = 2});
  const auto batch = loader.next();
  REQUIRE(batch.has_value());
  const LoaderState state = loader.state();
  const std::vector<std::function<void()>> uses{
      [&] { loader.next(); },        [&] { loader.at(0, 0); },       [&] { loader.set_epoch(1); },
      [&] { loader.begin_epoch(); }, [&] { loader.restore(state); }, [&] { loader.explain(*batch, 0); },
      [&] { loader.stats(); },       [&] { loader.reset_stats(); },  [&] { loader.steps(); },
      [&] { loader.mark_step(); },   [&] { loader.gains(); },        [&] { loader.trace(folder / "trace.json"); },
      [&] { loader.end_trace(); },
  };
  const pid_t child = ::fork();
  if (child == 0) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      try {
        uses[i]();
        ::_exit(static_cast<int>(1 + i));
      } catch (const Error& error) {
        if (std::strstr(error.what(), "fork") == nullptr) ::_exit(static_cast<int>(101 + i));
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(loader.next().has_value());
}

}  // namespace penstock::test::loader_test
