// Tests max_error_rate: where a loader says that too many samples are bad, alone and among ranks.
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "support/damaged.hpp"

namespace penstock::test::error_limits_test {

TEST_CASE("more bad samples than max_error_rate raise, at the same batch whatever the workers") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  for (const unsigned workers : {1U, 4U}) {
    LoaderOptions options = shuffled(OnError::mark);
    options.shuffle = false;
    options.workers = workers;
    options.max_error_rate = 0.025;  // one of forty
    Loader loader(dataset, options);
    CHECK(loader.next().has_value());
    CHECK(loader.next().has_value());
    CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("are invalid, more than max_errors=0.025 allows"), Error);
  }
}

TEST_CASE("a limit is passed at the same batch however often the epoch is begun again, and never by that alone") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  LoaderOptions options = shuffled(OnError::mark);
  options.max_error_rate = 0.05;  // the two of forty that are bad
  Loader enough(dataset, options);
  const LoaderState begun = enough.state();
  for (int again = 0; again < 3; ++again) {
    while (enough.next()) {
    }
    enough.set_epoch(0);
    for (int batch = 0; batch < 3; ++batch) REQUIRE(enough.next().has_value());
    enough.restore(begun);
    for (std::uint64_t batch = 0; batch < 5; ++batch) enough.at(0, batch);
  }
  while (enough.next()) {
  }
  CHECK(enough.stats().bad.size() == 2);  // each is listed once an epoch
  while (enough.next()) {
  }
  CHECK(enough.stats().bad.size() == 4);

  options.max_error_rate = 0.025;
  Loader few(dataset, options);
  std::vector<std::uint64_t> passed_at;
  for (int again = 0; again < 3; ++again) {
    few.set_epoch(0);
    try {
      while (few.next()) {
      }
    } catch (const Error& error) {
      CHECK(error.cause().find("2 of 40 samples of epoch 0 are invalid") == 0);
      passed_at.push_back(few.state().batch);
    }
  }
  REQUIRE(passed_at.size() == 3);
  CHECK(passed_at == std::vector<std::uint64_t>(3, passed_at.front()));
}

TEST_CASE("several ranks: each minds its share, and says so; with a sum over them they raise at the same batch") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  LoaderOptions options = shuffled(OnError::mark);
  options.batch_size = 1;
  options.world_size = 2;
  options.max_error_rate = 0;
  std::vector<std::unique_ptr<Loader>> ranks;
  std::map<std::uint64_t, std::uint64_t> sums;  // by batch, of what the ranks gave
  const auto run = [&](std::uint32_t rank) {
    try {
      while (ranks[rank]->next()) {
      }
    } catch (const Error& error) {
      CHECK(error.cause().find("max_errors") != std::string::npos);
    }
    return ranks[rank]->state().batch;
  };
  for (options.rank = 0; options.rank < 2; ++options.rank) ranks.push_back(std::make_unique<Loader>(dataset, options));
  CHECK(ranks[0]->stats().notes.find("all_reduce makes them raise at the same one") != std::string::npos);
  CHECK(run(0) != run(1));

  // What a process group would tell: first all ranks' numbers are gathered, then each gets their sum.
  std::uint32_t rank = 0;
  bool gathering = true;
  std::vector<std::uint64_t> asked_at;
  options.all_reduce = [&](std::uint64_t bad) {
    const std::uint64_t batch = ranks[rank]->state().batch;
    if (gathering) return sums[batch] += bad, std::uint64_t{0};
    asked_at.push_back(batch);
    return sums.at(batch);
  };
  for (const bool first : {true, false}) {
    gathering = first;
    ranks.clear();
    for (options.rank = 0; options.rank < 2; ++options.rank)
      ranks.push_back(std::make_unique<Loader>(dataset, options));
    CHECK(ranks[0]->stats().notes.empty());
    std::vector<std::uint64_t> ended;
    for (rank = 0; rank < 2; ++rank) ended.push_back(run(rank));
    CHECK(ended[0] == ended[1]);
  }
  CHECK(sums.rbegin()->second == 2);
  CHECK(asked_at.size() % 2 == 0);
  CHECK(asked_at.front() == 15);  // the 16th, which is not delivered before the sum says so
}

}  // namespace penstock::test::error_limits_test
