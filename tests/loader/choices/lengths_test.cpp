// Tests lengths of fields, and loaders that make batches by them; images and arrays: tests/python/test_lengths.py.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <order/buckets/length_table.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/sampling.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::lengths_test {
namespace {

/// Texts of 0, 3, 6, ... bytes (i * 7 mod 20 times 3), each with its length in words beside it.
struct Texts {
  Texts() {
    for (unsigned i = 0; i < 20; ++i) {
      const std::string name = "s" + std::string(i < 10 ? "0" : "") + std::to_string(i);
      write_file(folder / "texts" / (name + ".txt"), std::string(length(i), 'x'));
      write_file(folder / "texts" / (name + ".json"),
                 "{\"words\": " + std::to_string(static_cast<double>(length(i)) / 2) + "}");
    }
  }
  static std::size_t length(std::uint64_t i) { return i * 7 % 20 * 3; }
  Dataset dataset() const { return open(folder / "texts"); }
  TemporaryFolder folder;
};

LoaderOptions options_of(std::shared_ptr<const LengthBuckets> buckets, std::uint32_t batch_size = 4) {
  LoaderOptions options{.batch_size = batch_size, .workers = 1, .transforms = {{"txt", raw()}}};
  options.batching = std::move(buckets);
  return options;
}

void fails(const Dataset& dataset, std::string_view by, const BucketOptions& options, const char* cause) {
  CHECK_THROWS_WITH_AS(Loader(dataset, options_of(bucket_by(dataset, by, options))), doctest::Contains(cause), Error);
}

}  // namespace

TEST_CASE("lengths are a field's bytes, or the number that a member holds") {
  const Texts texts;
  const Dataset dataset = texts.dataset();
  const auto bytes = bucket_by(dataset, "txt"), same = bucket_by(dataset, "bytes:txt"),
             words = bucket_by(dataset, "json:words");
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    CHECK((*bytes->lengths)[i] == static_cast<double>(Texts::length(i)));
    CHECK((*same->lengths)[i] == static_cast<double>(Texts::length(i)));
    CHECK((*words->lengths)[i] == static_cast<double>(Texts::length(i)) / 2);
  }
  CHECK(bytes->lengths->fingerprint() == same->lengths->fingerprint());
  CHECK(bytes->lengths->fingerprint() != words->lengths->fingerprint());
}

TEST_CASE("a loader delivers batches of like lengths, each sample once, with as many rows as fit") {
  const Texts texts;
  const Dataset dataset = texts.dataset();
  for (const double budget : {0.0, 120.0}) {
    LoaderOptions options = options_of(bucket_by(dataset, "txt", {.window = 20, .budget = budget}), 5);
    options.shuffle = true;
    Loader loader(dataset, options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::set<std::uint64_t> seen;
      std::uint64_t batches = 0;
      const std::uint64_t expected = loader.batches();
      while (const auto batch = loader.next()) {
        std::size_t longest = 0, shortest = 1000;
        for (const std::uint64_t sample : batch->samples()) {
          CHECK(seen.insert(sample).second);
          longest = std::max(longest, Texts::length(sample));
          shortest = std::min(shortest, Texts::length(sample));
        }
        CHECK(longest - shortest <= 12);
        if (budget != 0) CHECK(static_cast<double>(longest * batch->size()) <= budget);
        const Batch again = loader.at(static_cast<std::uint64_t>(epoch), batches++);
        CHECK(std::ranges::equal(again.samples(), batch->samples()));
      }
      CHECK(seen.size() == 20);
      CHECK(batches == expected);
    }
  }
}

TEST_CASE("what has no length, or does not fit, is told with its name") {
  const Texts texts;
  const Dataset dataset = texts.dataset();
  fails(dataset, "tokens", {}, "there is no field \"tokens\"");
  fails(dataset, "json:letters", {}, "has no member \"letters\"");
  fails(dataset, "txt", {.window = 3}, "pool=3 is smaller than a batch of all ranks, 4 rows");
  fails(dataset, "txt", {.window = 0}, "pool must be at least 1");
  fails(dataset, "txt", {.budget = 50}, "the sample's length, 51, is more than budget=50");
  fails(dataset, "txt", {.budget = 50}, "s11");
  fails(dataset, "txt", {.budget = -1}, "budget must be a number above 0");
  fails(dataset, "pixels:txt", {}, "txt");
  write_file(texts.folder / "texts" / "s05.json", "{\"words\": -2}");
  fails(texts.dataset(), "json:words", {}, "the number is -2; a length must be a number of 0 or more");
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<double> lengths(20, 1);
    lengths[7] = wrong;
    CHECK_THROWS_WITH_AS(bucket_by(lengths), doctest::Contains("sample 7"), Error);
  }
  CHECK_THROWS_WITH_AS(Loader(dataset, options_of(bucket_by(std::vector<double>(19, 1)))),
                       doctest::Contains("19 lengths and 20 samples"), Error);
}

TEST_CASE("a table of lengths that is not finished is refused") {
  const Texts texts;
  const Dataset dataset = texts.dataset();
  auto table = std::make_shared<LengthTable>(dataset.size());
  for (std::uint64_t i = 0; i < dataset.size(); ++i) table->set(i, 1);
  const auto loader = [&] {
    return Loader(dataset, options_of(std::make_shared<const LengthBuckets>(LengthBuckets{.lengths = table})));
  };
  CHECK_THROWS_WITH_AS(loader(), doctest::Contains("finish()"), Error);
  table->finish();
  CHECK(loader().next());
}

TEST_CASE("a sample without the field is refused where it would be delivered") {
  const Texts texts;
  write_file(texts.folder / "texts" / "t00.json", "{\"words\": 1}");
  const Dataset dataset = texts.dataset();
  const auto buckets = bucket_by(dataset, "txt");
  LoaderOptions options = options_of(buckets);
  options.missing = Missing::empty;
  CHECK_THROWS_WITH_AS(Loader(dataset, options), doctest::Contains("t00"), Error);
  options.missing = Missing::exclude;
  Loader loader(dataset, options);
  CHECK(loader.batches() == 5);
  options.missing = Missing::raise;
  options.subset = std::vector<std::uint64_t>{3, 1, 4, 1, 5};
  Loader some(dataset, options);
  CHECK(some.next()->size() == 4);
}

}  // namespace penstock::test::lengths_test
