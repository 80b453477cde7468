// A loader's position: saved small, restored anywhere, and every sample exactly once whatever the ranks.
#include <random>

#include <doctest/doctest.h>

#include "support/loading.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

LoaderOptions array_options(std::uint32_t batch_size) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = true;
  options.seed = 5;
  options.workers = 1;
  return options;
}

std::vector<std::uint64_t> digests_of(Loader& loader, int epochs) {
  std::vector<std::uint64_t> all;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const std::uint64_t digest : batch_digests(loader)) all.push_back(digest);
  }
  return all;
}

}  // namespace

TEST_CASE("resuming at every position equals the uninterrupted run") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 50);
  const Dataset dataset = open(folder / "data");
  Loader loader(dataset, array_options(8));
  const auto expected = digests_of(loader, 2);
  REQUIRE(expected.size() == 14);

  for (std::size_t stop = 0; stop < expected.size(); ++stop) {
    Loader first(dataset, array_options(8));
    for (std::size_t taken = 0; taken < stop;) taken += first.next().has_value() ? 1U : 0U;
    const std::string json = first.state().to_json();

    Loader second(dataset, array_options(8));
    second.restore(LoaderState::from_json(json));
    std::vector<std::uint64_t> rest;
    while (rest.size() < expected.size() - stop) {
      if (const auto batch = second.next()) {
        Digest digest;
        digest.add(*batch);
        rest.push_back(digest.value());
      }
    }
    CAPTURE(stop);
    CHECK(rest == std::vector(expected.begin() + static_cast<std::ptrdiff_t>(stop), expected.end()));
  }
}

TEST_CASE("10,007 samples over 8 ranks: the rows that count are all samples, each once") {
  const TemporaryFolder folder;
  write_arrays(folder / "source", 10'007);
  const Dataset dataset = packed(open(folder / "source"), folder / "tar", "tar");
  std::map<std::uint64_t, int> counts;
  std::uint64_t batches = 0;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    LoaderOptions options = array_options(64);
    options.rank = rank;
    options.world = 8;
    Loader loader(dataset, options);
    if (rank == 0) batches = loader.batches();
    CHECK(loader.batches() == batches);
    count_samples(loader, counts);
  }
  CHECK(counts.size() == 10'007);
  for (const auto& [sample, count] : counts) REQUIRE(count == 1);
}

TEST_CASE("a state taken with one world and batch size finishes the epoch with another, each sample once") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 101);
  const Dataset dataset = open(folder / "data");
  std::mt19937 random(1);
  for (int round = 0; round < 12; ++round) {
    const auto world = static_cast<std::uint32_t>(1 + random() % 3);
    const auto batch_size = static_cast<std::uint32_t>(1 + random() % 9);
    std::map<std::uint64_t, int> counts;
    std::string json;
    std::uint64_t taken = 0;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      LoaderOptions options = array_options(batch_size);
      options.rank = rank;
      options.world = world;
      Loader loader(dataset, options);
      if (rank == 0) taken = random() % (loader.batches() + 1);
      for (std::uint64_t b = 0; b < taken; ++b) {
        const auto batch = loader.next();
        for (std::uint32_t row = 0; row < batch->size(); ++row) {
          if (batch->valid()[row] != 0) ++counts[batch->samples()[row]];
        }
      }
      json = loader.state().to_json();
    }
    const auto later_world = static_cast<std::uint32_t>(1 + random() % 4);
    const auto later_batch = static_cast<std::uint32_t>(1 + random() % 9);
    for (std::uint32_t rank = 0; rank < later_world; ++rank) {
      LoaderOptions options = array_options(later_batch);
      options.rank = rank;
      options.world = later_world;
      Loader loader(dataset, options);
      loader.restore(LoaderState::from_json(json));
      count_samples(loader, counts);
    }
    CAPTURE(world);
    CAPTURE(taken);
    CAPTURE(later_world);
    CHECK(counts.size() == 101);
    for (const auto& [sample, count] : counts) CHECK(count == 1);
  }
}

TEST_CASE("a state of another dataset is refused; one of another transform is noted") {
  const TemporaryFolder folder;
  write_arrays(folder / "a", 10);
  write_arrays(folder / "b", 11);
  Loader a(open(folder / "a"), array_options(4));
  Loader b(open(folder / "b"), array_options(4));
  CHECK_THROWS_WITH_AS(a.restore(b.state()), doctest::Contains("another dataset"), Error);
  LoaderState state = a.state();
  state.transforms = "jpeg 0";
  a.restore(state);
  CHECK(a.stats().notes.find("jpeg 0") != std::string::npos);
}

TEST_CASE("one for is one epoch; a broken-off one is followed by the next epoch; set_epoch goes anywhere") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 20);
  const Dataset dataset = open(folder / "data");
  Loader loader(dataset, array_options(4));
  std::vector<std::uint64_t> epochs;
  for (int round = 0; round < 3; ++round) {
    int batches = 0;
    for (const Batch& batch : loader) {
      epochs.push_back(batch.epoch());
      if (round == 1 && ++batches == 2) break;
    }
  }
  CHECK(epochs == std::vector<std::uint64_t>{0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2});
  Loader other(dataset, array_options(4));
  other.set_epoch(2);
  loader.set_epoch(2);
  CHECK(batch_digests(loader) == batch_digests(other));
  CHECK(loader.epoch() == 3);
}

TEST_CASE("last: keep gives a short batch, drop leaves it out, pad repeats and marks") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 10);
  const Dataset dataset = open(folder / "data");
  const auto sizes = [&](Last last) {
    LoaderOptions options = array_options(4);
    options.last = last;
    Loader loader(dataset, options);
    std::vector<int> rows;
    while (const auto batch = loader.next()) {
      int valid = 0;
      for (const std::uint8_t mark : batch->valid()) valid += mark;
      rows.push_back(static_cast<int>(batch->size()) * 100 + valid);
    }
    return rows;
  };
  CHECK(sizes(Last::keep) == std::vector<int>{404, 404, 202});
  CHECK(sizes(Last::drop) == std::vector<int>{404, 404});
  CHECK(sizes(Last::pad) == std::vector<int>{404, 404, 402});
}

TEST_CASE("an epoch too small for one full batch ends at once, and again") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 3);
  LoaderOptions options = array_options(4);
  options.last = Last::drop;
  Loader loader(open(folder / "data"), options);
  CHECK_FALSE(loader.next().has_value());
  CHECK_FALSE(loader.next().has_value());
}
