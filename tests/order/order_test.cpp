// Tests that a batch's bytes are a function of dataset, seed, epoch, rank and position alone.
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <bench/synth/workload.hpp>

#include "support/loading.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::order_test {
namespace {

LoaderOptions image_options() {
  LoaderOptions options;
  options.batch_size = 7;
  options.shuffle = true;
  options.seed = 11;
  options.transforms = {{"png", image::random_resized_crop(24) | image::random_horizontal_flip() |
                                    image::normalize({0.5F, 0.4F, 0.3F}, {0.2F, 0.3F, 0.4F})},
                        {"cls", label()},
                        {"stored", field("png") | raw()}};
  return options;
}

std::vector<std::uint64_t> two_epochs(const Dataset& dataset, const LoaderOptions& options) {
  Loader loader(dataset, options);
  std::vector<std::uint64_t> digests = batch_digests(loader);
  for (const std::uint64_t digest : batch_digests(loader)) digests.push_back(digest);
  return digests;
}

}  // namespace

TEST_CASE("batches do not depend on workers, prefetch, engine or packing") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 60, .seed = 3, .workers = 1, .classes = 4});
  const Dataset source = open(folder / "icons");
  const std::vector<std::uint64_t> expected = two_epochs(source, image_options());
  REQUIRE(expected.size() == 2 * 9);
  CHECK(std::vector(expected.begin(), expected.begin() + 9) != std::vector(expected.begin() + 9, expected.end()));

  std::vector<Dataset> packings{source};
  for (const std::string& format : written_formats()) packings.push_back(packed(source, folder / format, format));
  for (const Dataset& dataset : packings) {
    for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring, EngineKind::mmap}) {
      for (const unsigned workers : {1U, 2U, 7U}) {
        for (const unsigned prefetch : {1U, 4U}) {
          LoaderOptions options = image_options();
          options.workers = workers;
          options.prefetch = prefetch;
          options.read_options.engine = engine;
          CAPTURE(dataset.format());
          CAPTURE(name(engine));
          CAPTURE(workers);
          CHECK(two_epochs(dataset, options) == expected);
        }
      }
    }
  }
}

TEST_CASE("another seed, and another epoch, give another order and other draws") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 30, .seed = 3, .workers = 1, .classes = 2});
  const Dataset source = open(folder / "icons");
  LoaderOptions options = image_options();
  const auto first = two_epochs(source, options);
  options.seed = 12;
  CHECK(two_epochs(source, options) != first);
}

TEST_CASE("explain() tells the sample behind a row, where its bytes lie, and what was drawn for it") {
  TemporaryFolder folder;
  std::vector<float> rows(40);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  for (std::uint64_t i = 0; i < 9; ++i)
    write_file(folder / ("data/" + number_key(i) + ".npy"), npy_file(rows, "(40,)"));
  for (const std::string& format : written_formats()) {
    const Dataset dataset = packed(open(folder / "data"), folder / format, format);
    Loader loader(dataset, {.batch_size = 4,
                            .shuffle = true,
                            .seed = 3,
                            .workers = 1,
                            .transforms = {{"npy", array::random_slice(5)}, {"whole", field("npy") | raw()}}});
    const Batch batch = loader.at(2, 1);
    for (std::uint32_t row = 0; row < batch.size(); ++row) {
      const RowAccount account = loader.explain(batch, row);
      CHECK(account.key == batch.keys()[row]);
      CHECK(account.sample == batch.samples()[row]);
      CHECK(account.seed == 3);
      CHECK(account.epoch == 2);
      REQUIRE(account.outputs.size() == 2);
      const auto first = static_cast<int>(batch["npy"].as<float>()[std::size_t{5} * row]);
      REQUIRE(account.outputs[0].account.outcomes.steps.size() == 1);
      CHECK(account.outputs[0].account.outcomes.steps[0] ==
            StepOutcome{"array.random_slice(5)",
                        "drew rows " + std::to_string(first) + " to " + std::to_string(first + 4) + " of 40"});
      const OutputOrigin& whole = account.outputs[1];
      REQUIRE(whole.offset.has_value());
      std::ifstream file(dataset.path() / whole.file, std::ios::binary);
      file.seekg(static_cast<std::streamoff>(*whole.offset));
      std::string bytes(whole.length, '\0');
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      const std::string elements(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float));
      CHECK(bytes == (format == "hdf5" ? elements : npy_file(rows, "(40,)")));  // HDF5 stores arrays as rows
    }
    CHECK_THROWS_WITH_AS(loader.explain(batch, 4), doctest::Contains("there is no row 4: the batch has 4 rows"), Error);
  }
}

TEST_CASE("at() rebuilds any batch of any epoch without moving the loader") {
  const TemporaryFolder folder;
  synth_icons(folder / "icons", {.count = 30, .seed = 3, .workers = 1, .classes = 2});
  const Dataset source = open(folder / "icons");
  Loader loader(source, image_options());
  const auto expected = batch_digests(loader);
  const auto second = batch_digests(loader);
  Loader other(source, image_options());
  for (std::uint64_t b : {4U, 0U, 2U}) {
    Digest digest;
    digest.add(other.at(0, b));
    CHECK(digest.value() == expected[b]);
  }
  Digest digest;
  digest.add(other.at(1, 3));
  CHECK(digest.value() == second[3]);
  CHECK(batch_digests(other) == expected);
  CHECK_THROWS_AS(other.at(0, 5), Error);
}

}  // namespace penstock::test::order_test
