// Tests on_error=replace: which sample takes the row of a bad one.
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <order/plan.hpp>

#include "support/damaged.hpp"

namespace penstock::test::replaced_rows_test {

TEST_CASE("replace: another good sample takes the row, the same one whatever the workers and the engine") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  std::vector<std::uint64_t> expected;
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
    for (const unsigned workers : {1U, 4U}) {
      LoaderOptions options = shuffled(OnError::replace);
      options.workers = workers;
      options.read_options.engine = engine;
      options.transforms = {{"npy", array::decode()}, {"cls", label()}, {"stored", field("npy") | raw()}};
      Loader loader(dataset, options);
      std::vector<std::uint64_t> digests;
      std::uint64_t rows = 0;
      for (int epoch = 0; epoch < 2; ++epoch) {
        while (const auto batch = loader.next()) {
          Digest digest;
          digest.add(*batch);
          digests.push_back(digest.value());
          rows += batch->size();
          for (std::uint32_t row = 0; row < batch->size(); ++row) {
            CHECK(batch->valid()[row] == 1);
            CHECK((*batch)["npy"].as<float>()[row * 3] == static_cast<float>(batch->samples()[row]));
            CHECK((*batch)["cls"].as<std::int64_t>()[row] == static_cast<std::int64_t>(batch->samples()[row] % 10));
          }
        }
      }
      CHECK(rows == 80);
      CHECK(loader.stats().bad_samples >= 4);
      if (expected.empty()) expected = digests;
      CHECK(digests == expected);
    }
  }
}

TEST_CASE("replace: a replacement that cannot be read is an error of its batch, and the loader goes on") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 3);
  write_file(folder / "data" / (number_key(0) + ".npy"), "\x93NUMPY");  // replaced by one of the others, or itself
  const Dataset dataset = open(folder / "data");
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread}) {
    LoaderOptions options = shuffled(OnError::replace);
    options.shuffle = false;
    options.batch_size = 1;
    options.max_error_rate = 1;
    options.read_options.engine = kind;
    options.transforms = {{"npy", array::decode()}};
    Loader good(dataset, options);
    const std::uint64_t replacement = good.next()->samples()[0];
    REQUIRE(replacement != 0);
    std::filesystem::rename(folder / "data" / (number_key(replacement) + ".npy"), folder / "away");
    Loader loader(dataset, options);
    try {
      loader.next();
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(error.context().key == number_key(replacement));
      CHECK(error.context().dataset == (folder / "data").string());
    }
    std::filesystem::rename(folder / "away", folder / "data" / (number_key(replacement) + ".npy"));
    for (const std::uint64_t sample : {1U, 2U}) {  // either read ahead, or not yet when it was away
      try {
        const auto batch = loader.next();
        CHECK(batch->samples()[0] == sample);
      } catch (const Error& error) {
        CHECK(error.context().key == number_key(sample));
        CHECK(sample == replacement);
      }
    }
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("replace: what takes a row is drawn from its position, so that others do not change it") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  std::map<std::uint64_t, std::uint64_t> taken;  // by position
  for (const std::uint32_t batch_size : {1U, 5U, 8U, 40U}) {
    LoaderOptions options = shuffled(OnError::replace);
    options.shuffle = false;
    options.batch_size = batch_size;
    options.max_error_rate = 1;
    Loader loader(dataset, options);
    for (std::uint64_t position = 0; const auto batch = loader.next();) {
      for (const std::uint64_t sample : batch->samples()) {
        if (sample != position) CHECK(taken.try_emplace(position, sample).first->second == sample);
        ++position;
      }
    }
  }
  REQUIRE(taken.size() == 2);
  CHECK(taken.at(7) != taken.at(23));
  LoaderOptions options = shuffled(OnError::replace);
  options.shuffle = false;
  options.max_error_rate = 1;
  std::set<std::uint64_t> drawn;  // each epoch draws anew
  Loader loader(dataset, options);
  for (int epoch = 0; epoch < 8; ++epoch) {
    for (std::uint64_t position = 0; const auto batch = loader.next();) {
      for (const std::uint64_t sample : batch->samples()) {
        if (position++ == 7) drawn.insert(sample);
      }
    }
  }
  CHECK(drawn.size() > 3);
  drawn.clear();
  for (options.seed = 0; options.seed < 8; ++options.seed) {  // and so does each seed
    Loader seeded(dataset, options);
    drawn.insert(seeded.at(0, 0).samples()[7]);
  }
  CHECK(drawn.size() > 3);

  // The same samples in the same places, as a list that is not shuffled: the same places of it take them.
  options.seed = 10;  // of which no first draw is a bad one
  options.shuffle = true;
  const Plan plan({.samples = 40, .shuffle = true, .seed = options.seed, .batch_size = 8}, 0);
  LoaderOptions listed = options;
  listed.shuffle = false;
  listed.subset.emplace();
  for (std::uint64_t position = 0; position < 40; ++position) listed.subset->push_back(plan.sample_at(position));
  Loader mixed(dataset, options), of_list(dataset, listed);
  std::size_t compared = 0;
  for (std::uint64_t position = 0; const auto batch = mixed.next();) {
    const auto other = of_list.next();
    for (std::uint32_t row = 0; row < batch->size(); ++row, ++position) {
      const std::uint64_t sample = batch->samples()[row];
      if (sample == plan.sample_at(position)) continue;
      CHECK(other->samples()[row] == plan.sample_at(sample));
      ++compared;
    }
  }
  CHECK(compared == 2);
}

}  // namespace penstock::test::replaced_rows_test
