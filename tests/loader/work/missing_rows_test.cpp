// Tests the rows of samples that lack an output's field, through a loader: filled with a number, empty, left out or
// refused.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <transforms/output.hpp>

#include "support/device_loading.hpp"
#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::missing_rows_test {
namespace {

constexpr std::uint64_t kSamples = 24;

bool has_mask(std::uint64_t i) {
  return i % 3 != 1;
}
bool has_image(std::uint64_t i) {
  return i % 5 != 4;
}
bool has_boxes(std::uint64_t i) {
  return i % 4 != 2;
}

/// Photographs with masks, boxes, labels and arrays. Each field is missing in some samples; "all" never is.
Dataset photographs(const std::filesystem::path& folder) {
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::string stem = (folder / number_key(i)).string();
    const auto seed = static_cast<std::uint32_t>(i);
    if (has_image(i)) write_file(stem + ".jpg", jpeg_picture(12, 10, 3, seed));
    if (has_mask(i)) write_file(stem + ".png", png_picture(12, 10, 1, seed));
    if (has_boxes(i)) write_file(stem + ".boxes.json", "[[0, 0, 4, 6]]");
    if (has_mask(i)) write_file(stem + ".cls", std::to_string(i));
    if (has_boxes(i)) write_file(stem + ".npy", npy_file({1, 2, static_cast<float>(i)}, "(3,)"));
    write_file(stem + ".all.txt", std::to_string(i));
  }
  return open(folder);
}

LoaderOptions options_of(std::vector<FieldChain> chains, std::vector<MissingRowsOf> missing) {
  LoaderOptions options;
  options.batch_size = 5;
  options.workers = 2;
  options.transforms = std::move(chains);
  options.missing_by_output = std::move(missing);
  return options;
}

std::vector<FieldChain> images_and_masks() {
  return {{"jpg", image::random_crop(8) | image::random_horizontal_flip()},
          {"png", follow("jpg")},
          {"cls", label()},
          {"npy", Chain{}}};
}

std::string failure(const Dataset& dataset, const LoaderOptions& options) {
  try {
    const Loader loader(dataset, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

template <typename Element>
bool is_row_of(const Batch& batch, const char* output, std::uint32_t row, Element value) {
  const auto all = batch[output].as<Element>();
  const std::size_t items = all.size() / batch.size();
  for (std::size_t i = 0; i < items; ++i)
    if (std::memcmp(&all[row * items + i], &value, sizeof value) != 0) return false;
  return true;
}

}  // namespace

TEST_CASE("numbers fill the rows of samples without the field, and the batch marks the others") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  LoaderOptions options =
      options_of(images_and_masks(), {{"jpg", 7}, {"png", 255}, {"cls", -100}, {"npy", std::nan("")}});
  std::vector<std::uint64_t> expected;
  for (const CacheKind cache : {CacheKind::none, CacheKind::encoded, CacheKind::decoded}) {
    for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
      options.cache.kind = cache;
      options.read_options.engine = engine;
      options.workers = engine == EngineKind::pread ? 3 : 1;
      Loader loader(dataset, options);
      std::vector<std::uint64_t> digests;
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::uint64_t rows = 0;
        while (const auto batch = loader.next()) {
          digests.push_back(digest_of(*batch));
          for (std::uint32_t row = 0; row < batch->size(); ++row, ++rows) {
            const std::uint64_t i = batch->samples()[row];
            CHECK(batch->present("jpg")[row] == has_image(i));
            CHECK(batch->present("png")[row] == (has_image(i) && has_mask(i)));
            CHECK(batch->present("cls")[row] == has_mask(i));
            CHECK(batch->present("npy")[row] == has_boxes(i));
            CHECK(is_row_of(*batch, "jpg", row, std::uint8_t{7}) == !has_image(i));
            CHECK(is_row_of(*batch, "png", row, std::uint8_t{255}) == !(has_image(i) && has_mask(i)));
            CHECK((*batch)["cls"].as<std::int64_t>()[row] == (has_mask(i) ? static_cast<std::int64_t>(i) : -100));
            const auto told = loader.explain(*batch, row).outputs;
            CHECK(told.size() ==
                  std::size_t{has_image(i)} + (has_image(i) && has_mask(i)) + has_mask(i) + has_boxes(i));
            CHECK(std::isnan((*batch)["npy"].as<float>()[row * 3 + 2]) == !has_boxes(i));
          }
          CHECK(std::ranges::count(batch->valid(), 1) == batch->size());
        }
        CHECK(rows == kSamples);
      }
      if (expected.empty()) expected = digests;
      CHECK(digests == expected);
    }
  }
}

TEST_CASE("an output without a number keeps the policy of the others, and is not marked") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  const std::vector<FieldChain> chains{{"cls", label()}, {"npy", Chain{}}, {"text", field("all.txt") | raw()}};
  LoaderOptions options = options_of(chains, {{"cls", -1}});
  CHECK(failure(dataset, options)
            .find("no field for output 'npy'; missing=\"exclude\" leaves such samples out, and "
                  "missing={\"npy\": 0} fills their rows") != std::string::npos);
  options.missing = Missing::exclude;
  Loader loader(dataset, options);
  std::uint64_t rows = 0;
  while (const auto batch = loader.next()) {
    CHECK(batch->present("npy").empty());
    CHECK(batch->present("cls").size() == batch->size());
    for (const std::uint64_t sample : batch->samples()) CHECK(has_boxes(sample));
    rows += batch->size();
  }
  CHECK(rows == kSamples - kSamples / 4);
  CHECK(loader.stats().excluded_samples == kSamples / 4);
}

TEST_CASE(
    "a number for all outputs fills those that it fits; the others raise with the reason if a sample lacks them") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  LoaderOptions options = options_of({{"cls", label()}, {"npy", Chain{}}, {"text", field("all.txt") | raw()}}, {});
  options.missing = -1;
  Loader loader(dataset, options);
  const auto batch = loader.next();
  CHECK(batch->present("text").empty());
  CHECK(batch->present("npy")[2] == 0);
  CHECK(is_row_of(*batch, "npy", 2, -1.0F));
  options.transforms = {{"png", Chain{}}};
  CHECK(failure(dataset, options).find("missing = -1: its rows are uint8, which cannot represent the number") !=
        std::string::npos);
  options.transforms = {{"boxes.json", raw()}};
  const std::string text = failure(dataset, options);
  CHECK(text.find("differ in length") != std::string::npos);
  CHECK(text.find("use \"empty\"") != std::string::npos);
}

TEST_CASE("numbers and names that do not fit are refused by output") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  const auto told = [&](const char* output, const MissingRows& rows) {
    std::vector<FieldChain> chains = images_and_masks();
    chains.emplace_back("boxes.json", follow("jpg") | boxes());
    chains.emplace_back("all.txt", raw());
    return failure(dataset, options_of(chains, {{output, rows}}));
  };
  CHECK(told("png", -100).find("missing[\"png\"] = -100: its rows are uint8, which cannot represent the number") !=
        std::string::npos);
  CHECK(told("cls", 0.5).find("missing[\"cls\"] = 0.5: its rows are int64") != std::string::npos);
  CHECK(told("cls", std::nan("")).find("int64") != std::string::npos);
  CHECK(told("npy", 1e300).find("float32") != std::string::npos);
  CHECK(told("boxes.json", 0).find("differ in length") != std::string::npos);
  CHECK(told("all.txt", 0).find("differ in length") != std::string::npos);
  CHECK(told("npy", Missing::empty).find("only rows of items can be empty; use a number") != std::string::npos);
  CHECK(told("pmg", 0).find("missing: \"pmg\" is not an output; did you mean \"png\"?") != std::string::npos);
  CHECK(told("something", 0).find("is none of \"jpg\", \"png\"") != std::string::npos);
  CHECK(told("jpg", 0).find("missing[\"png\"] = \"raise\": it follows \"jpg\", which has nothing to follow") !=
        std::string::npos);
}

TEST_CASE("boxes and their lengths are empty in samples without the image that they follow") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  LoaderOptions options = options_of({{"jpg", image::resize(8)},
                                      {"boxes", field("boxes.json") | follow("jpg") | boxes()},
                                      {"count", follow("boxes") | lengths()}},
                                     {{"jpg", 0}, {"boxes", Missing::empty}});
  Loader loader(dataset, options);
  while (const auto batch = loader.next()) {
    CHECK(batch->present("count").empty());
    for (std::uint32_t row = 0; row < batch->size(); ++row) {
      const std::uint64_t i = batch->samples()[row];
      const bool there = has_image(i) && has_boxes(i);
      const Field& boxes = (*batch)["boxes"];
      CHECK(batch->present("boxes")[row] == there);
      CHECK(boxes.offsets[row + 1] - boxes.offsets[row] == (there ? 1 : 0));
      CHECK((*batch)["count"].as<std::int64_t>()[row] == (there ? 1 : 0));
    }
  }
}

TEST_CASE("images of different sizes may be empty, with the masks that follow them") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  Loader loader(dataset, options_of({{"jpg", image::decode(false, false, true)}, {"png", follow("jpg")}},
                                    {{"jpg", Missing::empty}, {"png", Missing::empty}}));
  while (const auto batch = loader.next()) {
    for (std::uint32_t row = 0; row < batch->size(); ++row) {
      const std::uint64_t i = batch->samples()[row];
      CHECK((*batch)["jpg"].shapes[std::size_t{row} * 3] == (has_image(i) ? 3 : 0));
      CHECK((*batch)["png"].shapes[std::size_t{row} * 2] == (has_image(i) && has_mask(i) ? 10 : 0));
      CHECK(batch->present("png")[row] == (has_image(i) && has_mask(i)));
    }
  }
}

TEST_CASE("a padded output is filled as a whole, or with its padding") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  const Chain padded = field("npy") | array::decode({.ragged = true}) | pad(4, {.value = 9});
  Loader loader(dataset, options_of({{"filled", padded}, {"empty", padded}, {"mask", follow("filled") | valid_mask()}},
                                    {{"filled", -5}, {"empty", Missing::empty}}));
  const auto batch = loader.next();
  CHECK(is_row_of(*batch, "filled", 2, -5.0F));
  CHECK(is_row_of(*batch, "empty", 2, 9.0F));
  CHECK(is_row_of(*batch, "mask", 2, std::uint8_t{0}));
  CHECK((*batch)["filled"].as<float>()[3] == 9);
  CHECK((*batch)["mask"].as<std::uint8_t>()[2] == 1);
}

TEST_CASE("invalid rows are not marked as present, and replacements are marked as what they have") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  write_file(folder / "data" / (number_key(0) + ".npy"), "broken");
  LoaderOptions options = options_of({{"npy", Chain{}}, {"cls", label()}}, {{"npy", 3}, {"cls", -1}});
  options.max_error_rate = 1;
  options.shuffle = true;
  for (const OnError policy : {OnError::mark, OnError::replace}) {
    options.on_error = policy;
    Loader loader(open(folder / "data"), options);
    std::uint64_t broken = 0;
    while (const auto batch = loader.next()) {
      for (std::uint32_t row = 0; row < batch->size(); ++row) {
        const std::uint64_t i = batch->samples()[row];
        const bool valid = batch->valid()[row] != 0;
        broken += valid ? 0 : 1;
        CHECK(batch->present("npy")[row] == (valid && has_boxes(i)));
        CHECK(batch->present("cls")[row] == (valid && has_mask(i)));
        if (valid) CHECK((*batch)["npy"].as<float>()[row * 3] == (has_boxes(i) ? 1 : 3));
      }
    }
    CHECK(broken == (policy == OnError::mark ? 1 : 0));
    CHECK(loader.stats().bad_samples == 1);
  }
}

TEST_CASE("batches on a device are filled and marked as on the host") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  LoaderOptions options =
      options_of({{"jpg", image::resize(8) | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})},
                  {"all", field("jpg") | image::center_crop(4) | image::cast(DType::f32)},
                  {"npy", Chain{}}},
                 {{"jpg", 0.25}, {"npy", -1}});
  options.missing = -2;
  options.memory_options.max_live_batches = 8;
  Loader host(dataset, options);
  std::vector<std::uint64_t> expected = digests_of(host);
  for (const bool direct : {false, true}) {
    options.device_options.opened = device_with();
    options.device_options.gpu_direct = direct;
    Loader loader(dataset, options);
    std::vector<std::uint64_t> digests;
    std::vector<Batch> held;
    while (const auto batch = loader.next()) {
      digests.push_back(digest_of(*batch));
      for (std::uint32_t row = 0; row < batch->size(); ++row)
        CHECK(batch->present("npy")[row] == has_boxes(batch->samples()[row]));
      held.push_back(*batch);
    }
    CHECK(digests == expected);
    CHECK(held.front().present("jpg")[4] == 0);
    CHECK(held.front().present("jpg")[0] == 1);
  }
}

TEST_CASE("mixing refuses images and labels that a number fills") {
  const TemporaryFolder folder;
  const Dataset dataset = photographs(folder / "data");
  LoaderOptions options = options_of(
      {{"jpg", image::resize(8) | image::normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F})}, {"cls", label(30)}},
      {{"jpg", 0}, {"cls", 0}});
  CHECK(failure(dataset, options).empty());
  options.mix = {mixup(0.2, 30)};
  CHECK(failure(dataset, options).find("cannot be mixed") != std::string::npos);
}

TEST_CASE("an element fits a dtype if the dtype can represent the number") {
  const auto fits = [](DType dtype, auto number) { return element_of(dtype, number).has_value(); };
  CHECK(fits(DType::u8, std::int64_t{255}));
  CHECK_FALSE(fits(DType::u8, std::int64_t{256}));
  CHECK_FALSE(fits(DType::u8, std::int64_t{-1}));
  CHECK(fits(DType::u8, 255.0));
  CHECK_FALSE(fits(DType::i64, 0.5));
  CHECK_FALSE(fits(DType::i32, std::nan("")));
  CHECK(fits(DType::boolean, std::int64_t{1}));
  CHECK_FALSE(fits(DType::boolean, std::int64_t{2}));
  CHECK(fits(DType::f16, std::nan("")));
  CHECK(fits(DType::f32, std::numeric_limits<double>::infinity()));
  CHECK_FALSE(fits(DType::f16, 1e6));
  CHECK_FALSE(fits(DType::f16, std::int64_t{1'000'000}));
  constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;  // not a double
  std::int64_t back = 0;
  std::memcpy(&back, element_of(DType::i64, kOdd)->value.data(), sizeof back);
  CHECK(back == kOdd);
  CHECK(fits(DType::u64, kOdd));
}

}  // namespace penstock::test::missing_rows_test
