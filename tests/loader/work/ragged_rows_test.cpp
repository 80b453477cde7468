// Tests rows of different lengths and sizes through a loader, beside each other and with broken ones among them.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::ragged_rows_test {
namespace {

/// Images of different sizes, boxes in them and labels of these, tracks of different lengths. Some are broken or
/// missing.
Dataset detections(const std::filesystem::path& folder) {
  for (std::uint64_t i = 0; i < 48; ++i) {
    const std::string stem = (folder / number_key(i)).string();
    const auto size = static_cast<std::int64_t>(8 + i % 5);
    write_file(stem + ".png", i % 11 == 7 ? "broken" : png_picture(size + 3, size, 3, static_cast<std::uint32_t>(i)));
    std::string boxes, labels, tracks;
    for (std::uint64_t item = 0; item < i % 4; ++item) {
      boxes += (item == 0 ? "" : ", ") + std::string("[0, 0, ") + std::to_string(item * 3) + ", 6]";
      labels += std::to_string(10 * i + item) + "\n";
    }
    write_file(stem + ".boxes.json", "[" + boxes + "]");
    write_file(stem + ".labels.txt", i % 13 == 5 ? labels + "999\n" : labels);  // one more than there are boxes
    const std::uint64_t length = i * 7 % 6;
    if (i % 17 != 3)
      write_file(stem + ".npy", npy_file(std::vector<float>(length * 2, static_cast<float>(i)),
                                         "(" + std::to_string(length) + ", 2)"));
  }
  return open(folder);
}

std::vector<FieldChain> chains() {
  return {{"png", image::decode(false, false, true) | image::resize(6)},
          {"boxes.json", follow("png") | boxes({.min_size = 1})},
          {"labels", field("labels.txt") | follow("boxes.json") | array::decode({.dtype = DType::i64, .ragged = true}) |
                         pad(0, {.multiple_of = 2, .value = -1})},
          {"mask", follow("labels") | valid_mask()},
          {"count", follow("boxes.json") | lengths()},
          {"npy", array::decode({.ragged = true, .shape = Shape{2}})},
          {"first", field("npy") | array::decode({.ragged = true, .shape = Shape{2}}) |
                        pad(2, {.value = 0.5, .longer = "truncate"})},
          {"raw", field("labels.txt") | raw()}};
}

std::uint64_t digest_of(const Batch& batch) {
  Digest digest;
  digest.add(batch);
  for (const Field& sized : batch.fields()) digest.add(sized.shapes.data(), sized.shapes.size_bytes());
  return digest.value();
}

void check_rows(const Batch& batch) {
  const Field& images = batch["png"];
  const auto counts = batch["count"].as<std::int64_t>();
  const Field& boxes = batch["boxes.json"];
  const auto mask = batch["mask"].as<std::uint8_t>();
  const auto labels = batch["labels"].as<std::int64_t>();
  const auto width = static_cast<std::size_t>(batch["labels"].values.shape[1]);
  REQUIRE(width % 2 == 0);
  for (std::uint32_t row = 0; row < batch.size(); ++row) {
    const std::int64_t* sizes = images.shapes.data() + std::size_t{row} * 3;
    CHECK(images.offsets[row + 1] - images.offsets[row] == sizes[0] * sizes[1] * sizes[2]);
    const std::int64_t count = batch.valid()[row] != 0 ? counts[row] : 0;
    CHECK(boxes.offsets[row + 1] - boxes.offsets[row] == count);
    for (std::size_t item = 0; item < width; ++item) {
      const bool is_item = item < static_cast<std::size_t>(count);
      CHECK((mask[row * width + item] != 0) == is_item);
      CHECK((labels[row * width + item] != -1) == is_item);
    }
  }
}

}  // namespace

TEST_CASE("rows of different lengths are the same whatever the workers, the engine, the cache and the errors' policy") {
  const TemporaryFolder folder;
  const Dataset dataset = detections(folder / "data");
  for (const OnError policy : {OnError::mark, OnError::replace}) {
    std::vector<std::uint64_t> expected;
    for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
      for (const unsigned workers : {1U, 3U}) {
        LoaderOptions options;
        options.batch_size = 5;
        options.shuffle = true;
        options.workers = workers;
        options.read_options.engine = engine;
        options.on_error = policy;
        options.max_error_rate = 1;
        options.missing = Missing::empty;
        options.cache.kind = workers == 1 ? CacheKind::none : CacheKind::decoded;
        options.transforms = chains();
        Loader loader(dataset, options);
        std::vector<std::uint64_t> digests;
        for (int epoch = 0; epoch < 2; ++epoch) {
          while (const auto batch = loader.next()) {
            check_rows(*batch);
            digests.push_back(digest_of(*batch));
          }
        }
        CHECK(digests.size() == 20);
        CHECK(loader.stats().bad_samples > 0);
        if (expected.empty()) expected = digests;
        CHECK(digests == expected);
      }
    }
  }
}

}  // namespace penstock::test::ragged_rows_test
