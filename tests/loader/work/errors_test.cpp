// Tests bad samples: raised with their whole context or marked, and reads that fail tried again.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "support/damaged.hpp"
#include "support/faulty_engine.hpp"

namespace penstock::test::errors_test {
namespace {

// Reads go through a FaultyEngine. `seen` is the last that was made.
Loader::EngineFactory faulty(Faults faults, FaultyEngine** seen = nullptr) {
  return [=](const Dataset& dataset, const EngineOptions& options, OnRead on_read) {
    const auto make = [&](OnRead answer) { return choose_engine(dataset, options, std::move(answer)).engine; };
    auto engine = std::make_unique<FaultyEngine>(make, faults, std::move(on_read));
    if (seen != nullptr) *seen = engine.get();
    return ChosenEngine{std::move(engine), "faulty"};
  };
}

}  // namespace

TEST_CASE("raise: next() throws with dataset, key, field and cause, and then goes on with the next batch") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  LoaderOptions options;
  options.batch_size = 8;
  Loader loader(dataset, options);
  try {
    loader.next();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(error.context().dataset == (folder / "data").string());
    CHECK(error.context().key == number_key(7));
    CHECK(error.context().field == "npy");
    CHECK(error.context().shard.find(number_key(7)) != std::string::npos);
  }
  CHECK(loader.next()->keys()[0] == number_key(8));
}

TEST_CASE("mark: the row is zeros and does not count, the batch is whole, the sample is listed") {
  const TemporaryFolder folder;
  Loader loader(damaged(folder / "data"), shuffled(OnError::mark));
  std::set<std::uint64_t> good;
  std::uint64_t rows = 0;
  while (const auto batch = loader.next()) {
    CHECK(batch->size() == 8);
    for (std::uint32_t row = 0; row < batch->size(); ++row, ++rows) {
      const std::uint64_t sample = batch->samples()[row];
      const auto values = (*batch)["npy"].as<float>().subspan(row * 3, 3);
      if (batch->valid()[row] != 0) {
        good.insert(sample);
        CHECK(values[0] == static_cast<float>(sample));
      } else {
        CHECK((sample == 7 || sample == 23));
        CHECK(values[0] == 0.0F);
        CHECK((*batch)["cls"].as<std::int64_t>()[row] == 0);
      }
    }
  }
  CHECK(rows == 40);
  CHECK(good.size() == 38);
  const Stats stats = loader.stats();
  CHECK(stats.bad_samples == 2);
  REQUIRE(stats.bad.size() == 2);
  CHECK(std::set<std::string>{stats.bad[0].key, stats.bad[1].key} ==
        std::set<std::string>{number_key(7), number_key(23)});
  CHECK(stats.bad[0].field == "npy");
}

TEST_CASE("a broken first sample is for the policy, not for the constructor") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  write_file(folder / "data" / (number_key(0) + ".npy"), "\x93NUMPY");
  LoaderOptions options = shuffled(OnError::mark);
  Loader loader(open(folder / "data"), options);
  std::map<std::uint64_t, int> good;
  count_samples(loader, good);
  CHECK(good.size() == 3);
}

TEST_CASE("on_error gets over many bad samples before the first good one, whose shape the others have") {
  const TemporaryFolder folder;
  for (std::uint64_t i = 0; i < 40; ++i) write_file(folder / "data" / (number_key(i) + ".npy"), "\x93NUMPY");
  write_file(folder / "data" / (number_key(40) + ".npy"), npy_file({1, 2, 3}, "(3,)"));
  LoaderOptions options{.batch_size = 41, .on_error = OnError::mark, .max_error_rate = 1};
  Loader loader(open(folder / "data"), options);
  const Batch batch = *loader.next();
  CHECK(batch["npy"].values.shape == Shape{41, 3});
  CHECK(batch.bad().size() == 40);
  CHECK(batch.valid()[40] == 1);
  options.on_error = OnError::raise;
  CHECK_THROWS_WITH_AS(Loader(open(folder / "data"), options), doctest::Contains(number_key(0).c_str()), Error);
}

TEST_CASE("I/O errors are tried three times, corrupt bytes once, and what failed ahead of its row is tried again") {
  const Arrays arrays(1);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  LoaderOptions options;
  options.batch_size = 1;
  options.workers = 1;
  options.prefetch = 1;
  options.transforms = {{"npy", array::decode()}};
  const auto reads_until = [&](EngineKind kind, Faults faults) {
    FaultyEngine* engine = nullptr;  // the workers' own
    options.read_options.engine = kind;
    std::string ended;
    Loader loader(dataset, options, faulty(faults, &engine));
    try {
      const auto batch = loader.next();
      CHECK(batch->samples()[0] == 0);
    } catch (const Error& error) {
      ended = name(error.kind());
    }
    loader.set_epoch(0);  // what was ahead is over
    return ended;
  };
  for (const unsigned times : {0U, 1U, 2U})
    CHECK(reads_until(EngineKind::in_worker, {.fail_file = 0, .times = times}) == "");
  CHECK(reads_until(EngineKind::in_worker, {.fail_file = 0, .times = 3}) == "i/o");
  CHECK(reads_until(EngineKind::in_worker, {.fail_file = 0, .corrupt = true, .times = 1}) == "corrupt");
  // Of an engine that reads ahead, each fails so often.
  for (const unsigned times : {0U, 1U, 2U})
    CHECK(reads_until(EngineKind::pread, {.fail_file = 0, .times = times}) == "");
  CHECK(reads_until(EngineKind::pread, {.fail_file = 0, .times = 3}) == "i/o");
}

TEST_CASE("what an engine's maker throws, whatever it is, is an error that names the dataset") {
  const Arrays data(8);
  const auto made_by = [&](const auto& thrown) {
    Loader loader(data.dataset(), {.batch_size = 4},
                  [&](const Dataset&, const EngineOptions&, OnRead) -> ChosenEngine { throw thrown; });
  };
  const std::string path = data.dataset().path().string();
  CHECK_THROWS_WITH_AS(made_by(std::out_of_range("range")), (path + ": resource: an unexpected failure: range").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(made_by(7), (path + ": resource: an exception of an unknown type").c_str(), Error);
}

}  // namespace penstock::test::errors_test
