// Rows of many filtered blocks, whose filters several threads undo.
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <loader/work/row_filler.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/program/program.hpp>

#include "support/faulty_engine.hpp"
#include "support/hdf5_files.hpp"
#include "support/parallels.hpp"

namespace penstock::test::shared_rows_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kRows = 4;

struct Made {
  Dims dims, chunk;
};
const Made kBlocks{{kRows, 32, 65'536}, {2, 1, 65'536}};  // 32 blocks of 512 KiB, each of two rows
const Made kMosaic{{kRows, 64, 32'768}, {2, 8, 1'024}};   // a mosaic of 256 tiles of 64 KiB for two rows
const Made kSmall{{kRows, 32, 256}, {2, 1, 256}};         // 32 blocks of 2 KiB

std::filesystem::path write(const std::filesystem::path& folder, const Made& made) {
  const std::filesystem::path path = folder / "x.h5";
  const Foreign file(path);
  const Hdf5Handle properties = chunked(made.chunk);
  H5Pset_shuffle(properties.get());
  H5Pset_deflate(properties.get(), 1);
  file.dataset<std::int32_t>("x", H5T_STD_I32LE, made.dims, properties);
  return path;
}

/// Counts reads from threads that it was not made in.
class OwnThread final : public ReadEngine {
 public:
  explicit OwnThread(std::unique_ptr<ReadEngine> engine) : engine_(std::move(engine)) {}
  EngineKind kind() const override { return engine_->kind(); }
  bool synchronous() const override { return true; }
  void submit(std::span<const ReadRequest> requests) override {
    if (std::this_thread::get_id() != owner_) ++others;
    engine_->submit(requests);
  }
  EngineStats stats() const override { return engine_->stats(); }
  std::atomic<int> others{0};

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::unique_ptr<ReadEngine> engine_;
};

/// What a worker has.
struct Worker {
  explicit Worker(const Dataset& opened, BlockCache& blocks, Parallel* parallel, const Faults& faults = {})
      : dataset(opened),
        program({}, {.fields = dataset.fields(), .first_value = [](std::uint32_t, const Codec*) { return Bytes(); }}),
        headers(dataset),
        cache(CacheKind::none, 0, dataset.size(), program),
        from{.dataset = dataset, .program = program, .headers = headers},
        engine(std::make_unique<FaultyEngine>(
            [&](OnRead done) {
              return choose_engine(dataset, {.kind = EngineKind::in_worker}, std::move(done)).engine;
            },
            faults, PendingRead::done)),
        filler(from, engine, blocks, cache, 0, nullptr, nullptr, parallel) {}

  template <class Fill>
  Bytes filled(const Fill& fill) {
    Bytes row(program.outputs()[0].row_bytes(), std::byte{0xEE});
    RowSlots slots;
    slots.places = {row};
    slots.buffered = {nullptr};
    slots.verbatim = {program.outputs()[0].verbatim ? std::span(row) : std::span<std::byte>()};
    fill(slots);
    CHECK(engine.others == 0);
    return row;
  }
  Bytes row(std::uint64_t sample) {
    return filled([&](RowSlots& slots) { filler.read_and_fill({.sample = sample, .key = "k"}, slots); });
  }

  const Dataset& dataset;
  const Program program;
  FieldHeaders headers;
  SampleCache cache;
  const FetchFrom from;
  OwnThread engine;
  RowFiller filler;
};

Bytes expected(const Made& made, std::uint64_t row) {
  std::vector<std::int32_t> values(made.dims[1] * made.dims[2]);
  std::iota(values.begin(), values.end(), static_cast<std::int32_t>(row * values.size()));
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::string failure(const Dataset& dataset, Parallel* parallel, const Faults& faults = {}) {
  BlockCache blocks(std::uint64_t{64} << 20);
  Worker worker(dataset, blocks, parallel, faults);
  try {
    worker.row(1);
  } catch (const Error& error) {
    return (error.kind() == ErrorKind::corrupt ? "corrupt: " : "io: ") + std::string(error.what());
  }
  return "none";
}

/// Writes over a block's stored bytes.
void break_block(const Dataset& dataset, const std::filesystem::path& path, std::uint32_t number) {
  const Extent extent = dataset.block(number).extent;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(extent.offset + 2));
  file << std::string(extent.length - 2, static_cast<char>(number));
}

}  // namespace

TEST_CASE("blocks of a row are undone by several threads to the same bytes") {
  for (const Made& made : {kBlocks, kMosaic}) {
    const TemporaryFolder folder;
    const Dataset dataset = open(write(folder.path(), made));
    for (const std::uint64_t capacity : {std::uint64_t{64} << 20, std::uint64_t{1} << 20, std::uint64_t{0}}) {
      CAPTURE(capacity);
      ShuffledThreads threads;
      Backwards backwards;
      for (CountedParallel* parallel : {static_cast<CountedParallel*>(nullptr), static_cast<CountedParallel*>(&threads),
                                        static_cast<CountedParallel*>(&backwards)}) {
        BlockCache blocks(capacity);
        Worker worker(dataset, blocks, parallel);
        for (std::uint64_t row = 0; row < kRows; ++row) CHECK((worker.row(row) == expected(made, row)));
        if (parallel == nullptr) continue;
        CHECK(parallel->calls >= 2);
        CHECK(parallel->most_pieces >= 4);
        if (capacity > std::uint64_t{32} << 20) CHECK(parallel->calls <= 4);  // the second row's blocks are there
      }
    }
  }
}

TEST_CASE("threads are asked to help with many bytes alone") {
  const TemporaryFolder folder;
  const Dataset dataset = open(write(folder.path(), kSmall));
  BlockCache blocks(std::uint64_t{64} << 20);
  ShuffledThreads threads;
  Worker worker(dataset, blocks, &threads);
  for (std::uint64_t row = 0; row < kRows; ++row) CHECK((worker.row(row) == expected(kSmall, row)));
  CHECK(threads.calls == 0);
}

TEST_CASE("workers that share blocks and threads wait for each other, and for nothing else") {
  for (const Made& made : {kBlocks, kMosaic}) {
    const TemporaryFolder folder;
    const Dataset dataset = open(write(folder.path(), made));
    BlockCache blocks(std::uint64_t{8} << 20);  // fewer than a row's
    std::atomic<int> wrong{0};
    const auto work = [&](unsigned seed) {
      ShuffledThreads threads(3, seed);
      Worker worker(dataset, blocks, &threads);
      for (std::uint64_t i = 0; i < 2 * kRows; ++i) {
        const std::uint64_t row = (i * 3 + seed) % kRows;
        if (worker.row(row) != expected(made, row)) ++wrong;
      }
    };
    std::vector<std::jthread> workers;
    for (unsigned seed = 0; seed < 3; ++seed) workers.emplace_back(work, seed);
    workers.clear();
    CHECK(wrong == 0);
  }
}

TEST_CASE("broken blocks give the error that one thread gives: that of the first") {
  for (const Made& made : {kBlocks, kMosaic}) {
    const TemporaryFolder folder;
    const std::filesystem::path path = write(folder.path(), made);
    const Dataset dataset = open(path);
    for (const std::uint32_t number : {20U, 9U}) {
      break_block(dataset, path, number);
      const std::string alone = failure(dataset, nullptr);
      CHECK(alone.starts_with("corrupt"));
      for (unsigned seed = 0; seed < 5; ++seed) {
        ShuffledThreads threads(4, seed);
        REQUIRE(failure(dataset, &threads) == alone);
        REQUIRE(threads.calls == 1);
      }
      Backwards backwards;
      CHECK(failure(dataset, &backwards) == alone);
    }
  }
}

TEST_CASE("a read that fails comes behind a broken block before it, and before one behind it") {
  for (const Made& made : {kBlocks, kMosaic}) {
    const TemporaryFolder folder;
    const std::filesystem::path path = write(folder.path(), made);
    const Dataset dataset = open(path);
    const Faults faults{.fail_offset = dataset.block(12).extent.offset};
    std::string before = "io";
    for (const std::uint32_t number : {20U, 9U}) {
      break_block(dataset, path, number);
      const std::string alone = failure(dataset, nullptr, faults);
      CHECK(alone.starts_with(before));
      ShuffledThreads threads;
      CHECK(failure(dataset, &threads, faults) == alone);
      Backwards backwards;
      CHECK(failure(dataset, &backwards, faults) == alone);
      before = "corrupt";
    }
    // Two failures are tried again.
    ShuffledThreads threads;
    CHECK(
        failure(dataset, &threads, {.fail_offset = dataset.block(2).extent.offset, .times = 2}).starts_with("corrupt"));
  }
}

TEST_CASE("blocks that came ahead of a row are undone by several threads, beside those that did not") {
  const TemporaryFolder folder;
  const Dataset dataset = open(write(folder.path(), kBlocks));
  BlockCache blocks(std::uint64_t{64} << 20);
  ReadWindow window(std::uint64_t{64} << 20);
  ShuffledThreads threads;
  Worker worker(dataset, blocks, &threads);
  RowTask task;
  task.fetches.resize(1);
  task.begins = {0};
  const Bytes row = worker.filled([&](RowSlots& slots) {
    task.fetches[0].plan(worker.from, {.sample = 1, .key = "k"}, slots);
    Bytes buffer(task.fetches[0].bytes());
    task.buffer = buffer.data();
    std::ifstream file(folder / "x.h5", std::ios::binary);
    for (std::uint32_t number = 0; number < 32; number += 2) {
      const Extent extent = dataset.block(number).extent;
      std::byte* memory = window.try_acquire(extent.length);
      file.seekg(static_cast<std::streamoff>(extent.offset));
      file.read(reinterpret_cast<char*>(memory), static_cast<std::streamsize>(extent.length));
      task.blocks.push_back(std::make_shared<BlockRead>(number, extent, window, memory));
      task.blocks.back()->arrived(nullptr);
    }
    worker.filler.fill_ahead({.sample = 1, .key = "k"}, task, 0, slots);
  });
  CHECK((row == expected(kBlocks, 1)));
  CHECK(threads.calls == 1);
  CHECK(worker.engine.stats().requests == 16);
}

}  // namespace penstock::test::shared_rows_test
