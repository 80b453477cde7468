// Tests that datasets and states of version 0.1 are read to the same samples in the same order.
#include <array>

#include <doctest/doctest.h>

#include "support/loading.hpp"

namespace penstock::test::golden_test {
namespace {

// 0.1-hdf5 is of a development build, which stored arrays and labels as bytes in HDF5.
constexpr auto kDatasets =
    std::to_array({"0.1-tar", "0.1-lmdb", "0.1-hdf5", "0.1-hdf5-rows", "0.1-zip", "0.1-tfrecord", "0.1-mds"});
constexpr const char* kState =
    R"({"batch":1,"batch_size":2,"dataset":"29558e418312d256","epoch":3,"penstock_state":1,"samples":6,"seed":7,"start":0,"transforms":"","world":1})";

LoaderOptions shuffled() {
  LoaderOptions options;
  options.batch_size = 2;
  options.shuffle = true;
  options.seed = 7;
  options.missing = Missing::empty;
  options.transforms = {{"npy", array::decode()}, {"cls", label()}, {"txt", raw()}};
  return options;
}

}  // namespace

TEST_CASE("datasets packed by 0.1 are read, value for value") {
  for (const char* name : kDatasets) {
    CAPTURE(std::string(name));
    const Dataset dataset = open(std::filesystem::path(PENSTOCK_GOLDEN) / name);
    REQUIRE(dataset.size() == 6);
    LoaderOptions options = shuffled();
    options.shuffle = false;
    Loader loader(dataset, options);
    for (std::uint64_t number = 0; number < 6;) {
      const auto batch = loader.next();
      REQUIRE(batch.has_value());
      for (std::uint32_t row = 0; row < batch->size(); ++row, ++number) {
        CHECK(batch->keys()[row] == "s" + std::to_string(number));
        CHECK((*batch)["npy"].as<float>()[row * 3 + 1] == static_cast<float>(number * number));
        CHECK((*batch)["cls"].as<std::int64_t>()[row] == static_cast<std::int64_t>(number % 3));
        const Field& text = (*batch)["txt"];
        const auto all = text.as<char>();
        const std::string note(all.data() + text.offsets[row], all.data() + text.offsets[row + 1]);
        CHECK(note == (number % 2 == 1 ? "note " + std::to_string(number) : ""));
      }
    }
  }
}

TEST_CASE("a state saved by 0.1 continues at the same sample") {
  for (const char* name : kDatasets) {
    Loader loader(open(std::filesystem::path(PENSTOCK_GOLDEN) / name), shuffled());
    loader.restore(LoaderState::from_json(kState));
    std::string keys;
    while (const auto batch = loader.next()) {
      for (const std::string_view key : batch->keys()) keys.append(key).append(" ");
    }
    CHECK(keys == "s3 s4 s5 s2 ");
  }
}

}  // namespace penstock::test::golden_test
