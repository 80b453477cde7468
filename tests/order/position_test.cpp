// Tests a loader's position: saved small, restored anywhere, and every sample exactly once whatever the ranks.
#include <random>

#include <doctest/doctest.h>

#include <order/plan.hpp>

#include "support/loading.hpp"

namespace penstock::test::position_test {
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
    options.world_size = 8;
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
      options.world_size = world;
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
      options.world_size = later_world;
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

TEST_CASE("a state restored into another order of its samples is an error that names the difference") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 20);
  const Dataset dataset = open(folder / "data");
  using Change = void (*)(LoaderOptions&);
  const auto refused = [&](Change saved_with, Change into, const char* difference) {
    LoaderOptions one = array_options(4), other = array_options(4);
    saved_with(one);
    into(other);
    Loader first(dataset, one), second(dataset, other);
    REQUIRE(first.next().has_value());
    second.set_epoch(3);
    REQUIRE(second.next().has_value());
    const LoaderState before = second.state();
    const LoaderState saved = LoaderState::from_json(first.state().to_json());
    CHECK_THROWS_WITH_AS(second.restore(saved), doctest::Contains(difference), Error);
    CHECK(second.state() == before);
    first.restore(saved);
    CHECK(first.state() == saved);
  };
  const Change none = [](LoaderOptions&) {};
  refused([](LoaderOptions& o) { o.shuffle_block = 8; }, none,
          "the state was saved with shuffle_block=8, this loader has none");
  refused(
      none, [](LoaderOptions& o) { o.shuffle_block = 8; },
      "the state was saved with no shuffle_block, this loader has shuffle_block=8");
  refused([](LoaderOptions& o) { o.shuffle_block = 8; }, [](LoaderOptions& o) { o.shuffle_block = 5; },
          "saved with shuffle_block=8, this loader has shuffle_block=5");
  refused(
      none, [](LoaderOptions& o) { o.shuffle = false; }, "saved with shuffle=true, this loader has shuffle=false");
  refused(
      none, [](LoaderOptions& o) { o.last_batch = Last::drop; },
      "saved with last_batch=keep, this loader has last_batch=drop");
  refused(
      none,
      [](LoaderOptions& o) {
        o.subset = {{1, 2, 3, 4, 5}};
      },
      "20 samples per epoch, this loader has 5");
  refused([](LoaderOptions& o) { o.subset.emplace(20, 7); }, none,
          "a subset of the samples, this loader has all samples");
  refused(
      [](LoaderOptions& o) {
        o.subset = {{1, 2, 3}};
      },
      [](LoaderOptions& o) {
        o.subset = {{1, 3, 2}};
      },
      "another subset");
}

TEST_CASE("a state of more batches than its epoch has is refused, whatever world saved it, and changes nothing") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 20);
  Loader loader(open(folder / "data"), array_options(4));
  const LoaderState before = loader.state();
  LoaderState saved = before;
  for (const std::uint32_t world : {1U, 2U}) {
    saved.world = world;
    saved.batch = 20 / 4 / world + 1;
    saved.batch += world == 2 ? 1 : 0;
    CHECK_THROWS_WITH_AS(loader.restore(saved), doctest::Contains("of epoch 0, but the epoch has"), Error);
    CHECK(loader.state() == before);
    --saved.batch;
    loader.restore(saved);
    CHECK_FALSE(loader.next().has_value());
    loader.restore(before);
  }
}

TEST_CASE("what changes no order is no difference: the whole as a subset, and a block where nothing is shuffled") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 5);
  const Dataset dataset = open(folder / "data");
  LoaderOptions whole = array_options(2);
  whole.subset = {{0, 1, 2, 3, 4}};
  Loader one(dataset, whole), other(dataset, array_options(2));
  CHECK(other.restore(one.state()).empty());
  LoaderOptions blocks = array_options(2), plain = array_options(2);
  blocks.shuffle = plain.shuffle = false;
  blocks.shuffle_block = 2;
  Loader third(dataset, blocks), fourth(dataset, plain);
  CHECK(fourth.restore(third.state()).empty());
  CHECK(third.restore(fourth.state()).empty());
}

TEST_CASE("the epochs after a restored one go on with the state's seed, and the other seed is told") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 20);
  const Dataset dataset = open(folder / "data");
  LoaderOptions of_state = array_options(4), of_loader = array_options(4);
  of_state.seed = 7;
  of_state.prefetch = 8;  // reads ahead into the next epochs
  of_loader.prefetch = 8;
  Loader first(dataset, of_state), second(dataset, of_loader);
  REQUIRE(first.next().has_value());
  const LoaderState saved = first.state();
  const auto expected = digests_of(first, 3);
  const std::string said = second.restore(saved);
  CHECK(said.find("its own seed=7 instead of this loader's seed=5") != std::string::npos);
  CHECK(second.stats().notes == said);
  CHECK(digests_of(second, 3) == expected);
  CHECK(second.state() == first.state());
  second.set_epoch(1);
  first.set_epoch(1);
  CHECK(digests_of(second, 1) == digests_of(first, 1));
  Digest rebuilt, delivered;
  rebuilt.add(second.at(4, 2));
  delivered.add(first.at(4, 2));
  CHECK(rebuilt.value() == delivered.value());

  Loader own(dataset, of_loader);
  CHECK(second.restore(own.state()).empty());
  CHECK(second.stats().notes.empty());  // what was told of the state before holds no more
}

TEST_CASE("each epoch behind a restored state is the plan's: with the state's seed, and from its first sample on") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 20);
  const Dataset dataset = open(folder / "data");
  const auto matches = [](const Batch& batch, const Plan& plan) {
    std::vector<Row> rows;
    plan.batch(batch.number(), rows);
    return std::ranges::equal(batch.samples(), rows, {}, {}, &Row::sample);
  };
  for (const std::uint64_t block : {0U, 3U}) {
    CAPTURE(block);
    LoaderOptions options = array_options(4);
    options.shuffle_block = block;
    options.seed = 7;
    Loader saving(dataset, options);
    REQUIRE(saving.next().has_value());
    options.seed = 5;
    options.batch_size = 6;  // the restored epoch begins at its fifth sample
    Loader loader(dataset, options);
    loader.restore(saving.state());
    PlanOptions expected{.samples = 20, .shuffle = true, .shuffle_block = block, .seed = 7, .batch_size = 6};
    while (const auto batch = loader.next()) CHECK(matches(*batch, Plan(expected, 0, 4)));
    for (const std::uint64_t epoch : {1U, 2U, 6U}) {
      CAPTURE(epoch);
      const Plan plan(expected, epoch);
      if (epoch == 6) loader.set_epoch(epoch);
      std::uint64_t batches = 0;
      for (; const auto batch = loader.next(); ++batches) {
        CHECK(matches(*batch, plan));
        CHECK(matches(loader.at(epoch, batches), plan));
      }
      CHECK(batches == 4);
    }
  }
}

TEST_CASE("a state of version 1 is taken on trust, and says so") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 20);
  const Dataset dataset = open(folder / "data");
  LoaderOptions blocks = array_options(4);
  blocks.shuffle_block = 5;
  Loader first(dataset, blocks), second(dataset, blocks);
  REQUIRE(first.next().has_value());
  LoaderState saved = first.state();
  saved.order.reset();
  CHECK(
      second.restore(LoaderState::from_json(saved.to_json())).find("is of version 1, which does not record shuffle") !=
      std::string::npos);
  CHECK(digests_of(second, 2) == digests_of(first, 2));
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
    options.last_batch = last;
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
  options.last_batch = Last::drop;
  Loader loader(open(folder / "data"), options);
  CHECK_FALSE(loader.next().has_value());
  CHECK_FALSE(loader.next().has_value());
}

}  // namespace penstock::test::position_test
