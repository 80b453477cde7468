// Tests filtered blocks that samples share: each is undone once while it is wanted, whichever engine brings its bytes.
#include <map>
#include <numeric>
#include <optional>
#include <support/faulty_engine.hpp>
#include <support/loading.hpp>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>

#include <formats/hdf5/handle.hpp>
#include <order/selection.hpp>

namespace penstock::test::blocks_test {
namespace {

constexpr hsize_t kRows = 480, kColumns = 50, kRowsPerChunk = 16;
constexpr std::uint64_t kChunks = kRows / kRowsPerChunk;

// Row i holds i * 50, i * 50 + 1, ...
void write_chunks(const std::filesystem::path& path) {
  const std::vector<hsize_t> dims{kRows, kColumns}, chunk{kRowsPerChunk, kColumns};
  std::vector<std::int32_t> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), 0);
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  const Hdf5Handle space(H5Screate_simple(2, dims.data(), nullptr));
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_chunk(properties.get(), 2, chunk.data());
  H5Pset_shuffle(properties.get());
  H5Pset_deflate(properties.get(), 1);
  const Hdf5Handle dataset(
      H5Dcreate2(file.get(), "x", H5T_STD_I32LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
  REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
}

struct Epoch {
  std::uint64_t digest = 0, blocks_undone = 0, rows = 0;
};

Epoch epoch_of(const std::filesystem::path& path, EngineKind engine, bool shuffle, std::uint64_t cache) {
  LoaderOptions options{
      .batch_size = 32, .shuffle = shuffle, .seed = 5, .workers = 2, .memory_options = {.block_cache_bytes = cache}};
  options.read_options.engine = engine;
  Loader loader(open(path), options);
  Digest digest;
  Epoch epoch;
  for (const Batch& batch : loader) {
    digest.add(batch);
    const auto values = batch["x"].as<std::int32_t>();
    for (std::size_t i = 0; i < values.size(); i += kColumns) {
      CHECK(values[i] % static_cast<std::int32_t>(kColumns) == 0);
      CHECK(values[i + 1] == values[i] + 1);
    }
    epoch.rows += values.size() / kColumns;
  }
  epoch.digest = digest.value();
  return epoch;
}

// What the two engines of a loader that reads ahead were asked for in two epochs: the one ahead, and the workers' own.
struct Asked {
  std::uint64_t ahead = 0, by_workers = 0;
  std::vector<std::uint64_t> digests = {};
};

Asked asked_in_two_epochs(const std::filesystem::path& path, bool shuffle, const Faults& faults_ahead) {
  ReadEngine *ahead = nullptr, *direct = nullptr;
  const Loader::EngineFactory make = [&](const Dataset& dataset, const EngineOptions& options, OnRead on_read) {
    const FaultyEngine::Make inner = [&](OnRead answer) {
      return choose_engine(dataset, options, std::move(answer)).engine;
    };
    const bool by_workers = options.kind == EngineKind::in_worker;
    auto engine = std::make_unique<FaultyEngine>(inner, by_workers ? Faults{} : faults_ahead, std::move(on_read));
    (by_workers ? direct : ahead) = engine.get();
    return ChosenEngine{std::move(engine), "under test"};
  };
  LoaderOptions options{.batch_size = 32, .shuffle = shuffle, .seed = 5, .workers = 2};
  options.read_options.engine = EngineKind::pread;
  Loader loader(open(path), options, make);
  Asked asked;
  for (int epoch = 0; epoch < 2; ++epoch) {
    Digest digest;
    for (const Batch& batch : loader) digest.add(batch);
    asked.digests.push_back(digest.value());
  }
  asked.ahead = ahead->stats().requests;
  asked.by_workers = direct->stats().requests;
  return asked;
}

}  // namespace

TEST_CASE("batches of shared blocks are the same with every engine and every size of the cache") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  for (const bool shuffle : {false, true}) {
    const Epoch expected = epoch_of(folder / "x.h5", EngineKind::in_worker, shuffle, 1 << 20);
    CHECK(expected.rows == kRows);
    for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring}) {
      for (const std::uint64_t cache : {0U, 10'000U, 1U << 20}) {
        CAPTURE(name(engine));
        CAPTURE(cache);
        CHECK(epoch_of(folder / "x.h5", engine, shuffle, cache).digest == expected.digest);
      }
    }
  }
}

namespace {

std::vector<std::uint64_t> samples_of(Loader& loader) {
  std::vector<std::uint64_t> samples;
  while (const auto batch = loader.next()) {
    for (std::uint32_t row = 0; row < batch->size(); ++row)
      if (batch->valid()[row] != 0) samples.push_back(batch->samples()[row]);
  }
  return samples;
}

LoaderOptions in_small_batches(std::optional<std::uint64_t> block = std::nullopt) {
  return {.batch_size = 32, .shuffle = true, .seed = 5, .workers = 2, .shuffle_block = block};
}

}  // namespace

TEST_CASE("shuffle=true is the same order whether samples share filtered blocks or not, and a state serves both") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  const Dataset chunked = open(folder / "x.h5"), plain = packed(chunked, folder / "tar", "tar");
  REQUIRE(chunked.block_count() == kChunks);
  for (const std::optional<std::uint64_t> block :
       {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(0), std::optional<std::uint64_t>(48)}) {
    Loader one(chunked, in_small_batches(block)), other(plain, in_small_batches(block));
    REQUIRE(one.next().has_value());
    other.restore(LoaderState::from_json(one.state().to_json()));
    CHECK(samples_of(one) == samples_of(other));
    CHECK(samples_of(one) == samples_of(other));
  }
  Loader full(chunked, in_small_batches()), by_blocks(chunked, in_small_batches(16));
  CHECK_THROWS_WITH_AS(full.restore(by_blocks.state()), doctest::Contains("shuffle_block=16, this loader has none"),
                       Error);
}

TEST_CASE("what a full shuffle over shared blocks costs is told, with the options that cure it") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  const auto told = [](const Dataset& dataset, LoaderOptions options) {
    return Loader(dataset, std::move(options)).stats().notes;
  };
  const Dataset dataset = open(folder / "x.h5");
  LoaderOptions small = in_small_batches();
  small.memory_options.block_cache_bytes = 1000;
  CHECK(told(dataset, small) ==
        "a full shuffle decompresses each compressed block of the dataset about 16 times per epoch, because about 16 "
        "samples share a block; shuffle=ps.shuffle.blocks(16) decompresses each once, and block_cache_bytes of 1 MB "
        "keeps all of them");
  small.shuffle_block = 0;
  CHECK(told(dataset, small).find("about 16 times") != std::string::npos);
  small.shuffle_block = 16;
  CHECK(told(dataset, small).empty());
  small.shuffle_block.reset();
  small.shuffle = false;
  CHECK(told(dataset, small).empty());
  CHECK(told(dataset, in_small_batches()).empty());  // the cache keeps all
  LoaderOptions half = in_small_batches();
  half.memory_options.block_cache_bytes = kRows * kColumns * sizeof(std::int32_t) / 2;
  CHECK(told(dataset, half).find("about 8 times") != std::string::npos);
  const Dataset plain = packed(dataset, folder / "tar", "tar");
  CHECK(told(plain, small).empty());
}

TEST_CASE("a state of version 1 goes on with the block shuffle that it meant, also through states of its own") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  const Dataset dataset = open(folder / "x.h5");
  REQUIRE(block_of_version_1(dataset) == 16);
  Loader then(dataset, in_small_batches(16));
  std::vector<std::uint64_t> all = samples_of(then), rest(all.begin() + 64, all.end());
  const std::vector<std::uint64_t> next = samples_of(then);
  then.set_epoch(0);
  for (int i = 0; i < 2; ++i) REQUIRE(then.next().has_value());
  LoaderState saved = then.state();
  saved.order.reset();

  Loader now(dataset, in_small_batches());
  CHECK(now.restore(LoaderState::from_json(saved.to_json())).find("pass shuffle=ps.shuffle.blocks(16) to keep it") !=
        std::string::npos);
  CHECK(samples_of(now) == rest);
  CHECK(samples_of(now) == next);
  now.restore(saved);
  const LoaderState again = LoaderState::from_json(now.state().to_json());
  REQUIRE(again.order.has_value());
  CHECK(again.order->block_of_version_1);

  Loader later(dataset, in_small_batches());
  later.restore(again);
  CHECK(samples_of(later) == rest);
  later.set_epoch(0);
  CHECK(samples_of(later) == all);
  Loader own(dataset, in_small_batches(16));
  own.restore(again);
  CHECK(samples_of(own) == rest);
  Loader without(dataset, in_small_batches(0));
  CHECK_THROWS_WITH_AS(without.restore(again), doctest::Contains("shuffle_block=16, this loader has none"), Error);
  without.restore(saved);  // of version 1: the loader says that it was saved without
  CHECK(samples_of(without) != rest);
}

TEST_CASE("a block is undone once for all the samples that share it") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
    CAPTURE(name(engine));
    LoaderOptions options{.batch_size = 32, .shuffle = true, .seed = 5, .workers = 2};
    options.read_options.engine = engine;
    Loader loader(open(folder / "x.h5"), options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const Batch& batch : loader) CHECK(batch["x"].values.shape[0] == 32);
    }
    CHECK(loader.stats().blocks_undone == kChunks);
  }
}

TEST_CASE("each block is read once, ahead of the workers, also where several groups of rows wait for it") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  for (const bool shuffle : {false, true}) {
    for (const auto delay : {0, 20}) {
      CAPTURE(shuffle);
      CAPTURE(delay);
      const Asked asked = asked_in_two_epochs(folder / "x.h5", shuffle, {.delay = std::chrono::milliseconds(delay)});
      CHECK(asked.ahead == kChunks);
      CHECK(asked.by_workers == 0);
    }
  }
}

TEST_CASE("a block whose reading ahead fails is read by the worker that wants it") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  const Asked expected = asked_in_two_epochs(folder / "x.h5", true, {});
  const Asked asked = asked_in_two_epochs(folder / "x.h5", true, {.fail_nth = 3});
  CHECK(asked.digests == expected.digests);
  CHECK(asked.by_workers == 1);
  const Asked never = asked_in_two_epochs(folder / "x.h5", true, {.fail_file = 0});
  CHECK(never.digests == expected.digests);
  CHECK(never.by_workers == kChunks);
}

TEST_CASE("a block that cannot be read is tried three times, and its error names dataset, file and sample") {
  const TemporaryFolder folder;
  write_chunks(folder / "x.h5");
  LoaderOptions options{.batch_size = 32, .workers = 1};
  options.read_options.engine = EngineKind::in_worker;
  for (const unsigned times : {1U, 2U, 3U}) {
    CAPTURE(times);
    Loader loader(open(folder / "x.h5"), options,
                  [&](const Dataset& dataset, const EngineOptions& engine, OnRead on_read) {
                    const FaultyEngine::Make inner = [&](OnRead answer) {
                      return choose_engine(dataset, engine, std::move(answer)).engine;
                    };
                    const Faults faults{.fail_file = 0, .times = times};
                    return ChosenEngine{std::make_unique<FaultyEngine>(inner, faults, std::move(on_read)), "faulty"};
                  });
    std::string failed;
    try {
      const auto batch = loader.next();
      CHECK(batch->size() == 32);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(error.context().dataset == (folder / "x.h5").string());
      CHECK_FALSE(error.context().key.empty());
      failed = error.what();
    }
    CHECK(failed.empty() == (times < 3));
  }
}

}  // namespace penstock::test::blocks_test
