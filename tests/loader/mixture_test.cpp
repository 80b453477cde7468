// Tests loaders of mixtures: which samples come, what their state says, and what does not go together.
// tests/python/test_mixture.py compares whole orders with a model of docs/order.md.
#include <map>
#include <set>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/loader.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::mixture_test {
namespace {

struct Sources {
  Sources() {
    for (unsigned i = 0; i < 30; ++i)
      write_file(folder / "many" / ("m" + std::to_string(i) + ".cls"), std::to_string(i));
    for (unsigned i = 0; i < 4; ++i) write_file(folder / "few" / ("f" + std::to_string(i) + ".cls"), std::to_string(i));
  }
  Mixture mixture(double many, double few, const MixtureOptions& options = {}) const {
    return Mixture({{"many", open(folder / "many"), many}, {"few", open(folder / "few"), few}}, options);
  }
  TemporaryFolder folder;
};

LoaderOptions options_of(std::uint32_t batch_size, std::uint32_t rank = 0, std::uint32_t world = 1) {
  return {.batch_size = batch_size, .shuffle = true, .seed = 4, .workers = 1, .rank = rank, .world_size = world};
}

using Keys = std::vector<std::string>;

Keys keys_of(const Batch& batch) {
  Keys keys;
  for (std::uint32_t row = 0; row < batch.size(); ++row) {
    CHECK((batch.keys()[row][0] == 'f') == (batch.sources()[row] == 1));
    if (batch.valid()[row] != 0) keys.emplace_back(batch.keys()[row]);
  }
  return keys;
}

Keys epoch_of(Loader& loader) {
  Keys keys;
  while (const auto batch = loader.next()) std::ranges::copy(keys_of(*batch), std::back_inserter(keys));
  return keys;
}

}  // namespace

TEST_CASE("all ranks together deliver the epoch of one, step by step") {
  const Sources sources;
  const Mixture mixture = sources.mixture(2, 1, {.stop = Stop::samples, .samples = 60});
  Loader alone(mixture, options_of(12));
  std::vector<Loader> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) ranks.emplace_back(mixture, options_of(4, rank, 3));
  for (int epoch = 0; epoch < 3; ++epoch) {
    while (const auto whole = alone.next()) {
      std::multiset<std::string> together;
      for (Loader& rank : ranks) {
        const Keys part = keys_of(*rank.next());
        CHECK(part.size() == 4);
        together.insert(part.begin(), part.end());
      }
      const Keys keys = keys_of(*whole);
      CHECK(together == std::multiset<std::string>(keys.begin(), keys.end()));
    }
    for (Loader& rank : ranks) CHECK(!rank.next());
  }
}

TEST_CASE("an epoch ends as it was asked to, and the next goes on where each source stands") {
  const Sources sources;
  Loader first(sources.mixture(1, 1), options_of(4));
  const Keys once = epoch_of(first);
  CHECK(std::set<std::string>(once.begin(), once.end()).size() == once.size());
  CHECK(std::ranges::count(once, 'f', [](const std::string& key) { return key[0]; }) == 4);
  Keys many;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const Keys next = epoch == 0 ? once : epoch_of(first);
    std::ranges::copy_if(next, std::back_inserter(many), [](const std::string& key) { return key[0] == 'm'; });
  }
  CHECK(std::set<std::string>(many.begin(), many.end()).size() == std::min<std::size_t>(many.size(), 30));
  Loader all(sources.mixture(1, 1, {.stop = Stop::all_exhausted}), options_of(4));
  std::map<std::string, int> times;
  for (const std::string& key : epoch_of(all)) ++times[key];
  CHECK(times.size() == 34);
  for (const auto& [key, count] : times) CHECK((key[0] == 'm' ? count == 1 : count >= 7));
}

TEST_CASE("a state says what each source gave, and goes on with other weights where that is asked for") {
  const Sources sources;
  const MixtureOptions hundred{.stop = Stop::samples, .samples = 100};
  Loader loader(sources.mixture(3, 1, hundred), options_of(10));
  for (int batch = 0; batch < 4; ++batch) CHECK(loader.next().has_value());
  const LoaderState state = LoaderState::from_json(loader.state().to_json());
  CHECK(state == loader.state());
  REQUIRE(state.mixture.has_value());
  CHECK(state.mixture->sources[0].taken + state.mixture->sources[1].taken == 40);
  Loader other(sources.mixture(1, 1, hundred), options_of(10));
  CHECK_THROWS_WITH_AS(other.restore(state), doctest::Contains("a weight of 0.75"), Error);
  CHECK(other.state().epoch == 0);
  MixtureOptions carrying = hundred;
  carrying.carry = true;
  Loader carried(sources.mixture(1, 1, carrying), options_of(10));
  CHECK(carried.restore(state).find("epoch 1 begins") != std::string::npos);
  CHECK(carried.state().mixture->sources[0].taken == state.mixture->sources[0].taken);
  std::set<std::string> before;
  Loader again(sources.mixture(3, 1, hundred), options_of(10));
  for (int batch = 0; batch < 4; ++batch) {
    for (const std::string& key : keys_of(*again.next()))
      if (key[0] == 'm') before.insert(key);
  }
  CHECK(before.size() == 30);  // the pass is over, and the next one begins anew
  CHECK(epoch_of(carried).size() == 100);
}

TEST_CASE("what cannot be mixed is told when it is made") {
  const Sources sources;
  const Dataset many = open(sources.folder / "many");
  CHECK_THROWS_WITH_AS(Mixture({}), doctest::Contains("needs a dataset"), Error);
  CHECK_THROWS_WITH_AS(Mixture({{"a", many, 1}, {"a", many, 1}}), doctest::Contains("two sources"), Error);
  CHECK_THROWS_WITH_AS(Mixture({{"", many, 1}}), doctest::Contains("needs a name"), Error);
  for (const double weight : {-1.0, std::nan(""), HUGE_VAL})
    CHECK_THROWS_WITH_AS(Mixture({{"a", many, weight}, {"b", many, 1}}), doctest::Contains("weight of source \"a\""),
                         Error);
  CHECK_THROWS_WITH_AS(sources.mixture(0, 0), doctest::Contains("all weights"), Error);
  CHECK_THROWS_WITH_AS(sources.mixture(1e308, 1e308), doctest::Contains("too large"), Error);
  CHECK_THROWS_AS(sources.mixture(1, 1, {.stop = Stop::samples}), Error);
  const Mixture uneven = sources.mixture(1, 1e300, {.stop = Stop::all_exhausted});
  CHECK(Loader(uneven, options_of(1)).batches() > 1'000'000'000);  // a weight has one part at least
  CHECK_THROWS_AS(weights_by_size(std::vector{many}, 0), Error);
  LoaderOptions subset = options_of(2);
  subset.subset = {{1, 2}};
  CHECK_THROWS_WITH_AS((Loader{sources.mixture(1, 1), subset}), doctest::Contains("views"), Error);
  LoaderOptions in_order = options_of(2);
  in_order.shuffle = false;
  CHECK_THROWS_WITH_AS((Loader{sources.mixture(1, 1, {.sampling = Sampling::random}), in_order}),
                       doctest::Contains("requires shuffle"), Error);
}

}  // namespace penstock::test::mixture_test
