// Packings tried in memory, and packed for some samples.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include <bench/tryout/advice.hpp>
#include <bench/tryout/packed_subset.hpp>
#include <bench/tryout/packings.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <penstock/error.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

#include "support/loading.hpp"
#include "support/picture_files.hpp"

namespace penstock::test::packing_tryout_test {
namespace {

constexpr unsigned kPictures = 24;

struct Pictures {
  explicit Pictures(bool files_are_jpeg = true) {
    for (unsigned i = 0; i < kPictures; ++i) {
      const std::string key = number_key(i);
      if (files_are_jpeg)
        write_file(folder / "data" / (key + ".jpg"), jpeg_picture(640, 480, 3, i));
      else
        write_file(folder / "data" / (key + ".png"), png_picture(64, 48, 3, i));
      write_file(folder / "data" / (key + ".cls"), std::to_string(i % 3));
    }
  }
  Dataset dataset() const { return open(folder / "data"); }
  TemporaryFolder folder;
};

std::vector<PackingTryout> tried(const Dataset& dataset, std::vector<FieldChain> fields,
                                 const std::function<bool()>& keep_going = {}, double seconds = 0.5) {
  const Task task{.name = "a test", .reason = "", .fields = std::move(fields)};
  std::vector<OutputStats> outputs;
  for (const auto& [name, chain] : task.fields) outputs.push_back({.name = name});
  outputs.front().decode = std::chrono::milliseconds(100);
  return tried_packings(dataset, task, outputs, 0, {.samples = 16, .seconds = seconds, .keep_going = keep_going});
}

std::vector<std::string> options_of(const std::vector<PackingTryout>& tryouts) {
  std::vector<std::string> options;
  for (const PackingTryout& tryout : tryouts) options.push_back(tryout.options);
  return options;
}

}  // namespace

TEST_CASE("images are shrunk to no less than a chain makes of them") {
  const std::vector<Size> images(10, Size{.width = 640, .height = 480});
  CHECK(smallest_side(image::random_resized_crop(64), images) == 128);        // 96 of 480 rows
  CHECK(smallest_side(image::decode() | image::resize(240), images) == 320);  // half of both
  CHECK(smallest_side(image::resize(100, 400), images) == 416);
  CHECK(smallest_side(image::random_horizontal_flip() | image::resize(240), images) == 320);
  std::vector<Size> one_narrow = images;
  one_narrow[3] = {.width = 640, .height = 240};  // one of ten may lose some
  CHECK(smallest_side(image::resize(240), one_narrow) == 320);
  one_narrow[4] = {.width = 640, .height = 240};
  CHECK_FALSE(smallest_side(image::resize(240), one_narrow).has_value());
}

TEST_CASE("images are not shrunk that have no more than is needed, or whose pixels are taken as they are") {
  const std::vector<Size> images(10, Size{.width = 640, .height = 480});
  CHECK_FALSE(smallest_side(image::random_resized_crop(300), images).has_value());
  CHECK_FALSE(smallest_side(image::resize(800), images).has_value());
  CHECK_FALSE(smallest_side(image::center_crop(100), images).has_value());
  CHECK_FALSE(smallest_side(image::random_crop(100) | image::resize(50), images).has_value());
  CHECK_FALSE(smallest_side(image::normalize({0}, {1}), images).has_value());
  CHECK_FALSE(smallest_side(image::resize(100), {}).has_value());
}

TEST_CASE("packings of JPEG files are tried in memory") {
  const Pictures pictures;
  std::vector<PackingTryout> tryouts;
  for (double seconds = 0.5; seconds < 100; seconds *= 4) {  // a busy machine re-encodes only some values in time
    tryouts = tried(pictures.dataset(), {{"jpg", image::random_resized_crop(64)}, {"cls", label()}}, {}, seconds);
    if (std::ranges::all_of(tryouts, [](const PackingTryout& tryout) { return tryout.samples == 16; })) break;
  }
  REQUIRE(options_of(tryouts) ==
          std::vector<std::string>{"--jpeg recode", "--max-side 128", "--jpeg recode --max-side 128"});
  for (const PackingTryout& tryout : tryouts) {
    CHECK(tryout.samples == 16);
    CHECK(tryout.keeping.filling > 0);
  }
  CHECK(tryouts[0].keeping.bytes < 1.2);
  CHECK(tryouts[1].keeping.bytes < 0.3);  // of a fifth of the pixels each
  CHECK(tryouts[1].keeping.filling < 0.9);
}

TEST_CASE("a packing that others' boxes do not survive is not tried") {
  const Pictures pictures;
  const auto tryouts = tried(pictures.dataset(), {{"jpg", image::random_resized_crop(64)},
                                                  {"again", field("jpg") | follow("jpg") | image::decode()}});
  CHECK(options_of(tryouts) == std::vector<std::string>{"--jpeg recode"});
}

TEST_CASE("packings of JPEG files are not tried on others") {
  const Pictures pictures(false);
  CHECK(tried(pictures.dataset(), {{"png", image::resize(32)}}).empty());
}

TEST_CASE("trying packings can be interrupted") {
  const Pictures pictures;
  unsigned asked = 0;
  CHECK_THROWS_WITH_AS(
      tried(pictures.dataset(), {{"jpg", image::random_resized_crop(64)}}, [&] { return ++asked < 20; }),
      doctest::Contains("interrupted"), Error);
}

TEST_CASE("some samples are packed, the same ones in either way") {
  const Pictures pictures;
  const TemporaryPlace place;
  const Dataset source = pictures.dataset();
  const Dataset plain = packed_subset(source, 5, {.samples = 10}, {}, place.path() / "a");
  const Dataset made =
      packed_subset(source, 5, {.samples = 10}, {.jpeg = jpeg_recoding("keep", 128)}, place.path() / "b");
  REQUIRE(plain.size() == 10);
  REQUIRE(made.size() == 10);
  const auto jpg = *source.field("jpg"), cls = *source.field("cls");
  for (std::uint64_t i = 0; i < plain.size(); ++i) {
    const std::uint64_t there = *source.find(plain.key(i));
    CHECK(made.key(i) == plain.key(i));
    CHECK(read_field(plain, i, *plain.field("jpg")) == read_field(source, there, jpg));
    CHECK(read_field(made, i, *made.field("jpg")).size() < read_field(source, there, jpg).size() / 2);
    CHECK(read_field(made, i, *made.field("cls")) == read_field(source, there, cls));
  }
}

TEST_CASE("what a packing brings is a gain among the others") {
  Demands demands;
  demands.rows.assign(1000, {.computes = 10e-3, .bytes = 100'000, .bringing = 0.1, .filling = 0.8});
  demands.samples_per_s = 100;
  LoaderOptions options;
  options.workers = 1;
  const Forecast forecast(demands, {.cores = 1}, options);
  const PackingTryout half{.options = "--max-side 128", .keeping = {.filling = 0.375, .bytes = 1}, .samples = 250};
  const PackingTryout none{.options = "--jpeg recode", .keeping = {.filling = 0.98, .bytes = 1}, .samples = 250};
  const std::vector<Gain> gains = gains_of(forecast, Tryouts{.pixels = {}, .packings = {none, half}, .blocks = {}});
  REQUIRE(gains.size() == 1);
  CHECK(gains[0].knob == "pack");
  CHECK(gains[0].ratio == doctest::Approx(2).epsilon(0.02));
  CHECK(gains[0].text.find(
            "pack --max-side 128: +100 %, values have 1.00 of their size, tried on 250 samples in memory") == 0);
}

}  // namespace penstock::test::packing_tryout_test
