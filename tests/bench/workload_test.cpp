#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include <bench/synth/workload.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <penstock/schema.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::workload_test {

namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

double mean_bytes(const std::map<std::string, std::string>& files) {
  double sum = 0;
  for (const auto& [path, bytes] : files) sum += static_cast<double>(bytes.size());
  return sum / static_cast<double>(files.size());
}

penstock::Layout decode(const std::string& value, const std::string& extension) {
  const penstock::FieldSchema schema = penstock::field_from_extension(extension);
  const auto bytes = std::as_bytes(std::span(value));
  const auto decoder = penstock::codec_for(schema, bytes).decoder(schema);
  const penstock::FieldBytes field{&schema, bytes};
  const penstock::Layout layout = decoder->peek(field);
  std::vector<std::byte> pixels(penstock::element_count(layout.shape));
  decoder->decode(field, nullptr, {pixels.data(), layout.dtype, layout.shape});
  return layout;
}

}  // namespace

TEST_CASE("the same seed gives the same files whatever the number of workers, another seed gives others") {
  const TemporaryFolder folder;
  for (const auto synth : {penstock::synth_images, penstock::synth_icons}) {
    synth(folder / "one", {.count = 24, .seed = 5, .workers = 1, .classes = 3}, {});
    synth(folder / "three", {.count = 24, .seed = 5, .workers = 3, .classes = 3}, {});
    synth(folder / "other", {.count = 24, .seed = 6, .workers = 2, .classes = 3}, {});
    CHECK(files_of(folder / "one") == files_of(folder / "three"));
    CHECK(files_of(folder / "one") != files_of(folder / "other"));
    for (const char* name : {"one", "three", "other"}) fs::remove_all(folder / name);
  }
}

TEST_CASE("images have the sizes of photographs and icons those of CIFAR's") {
  const TemporaryFolder folder;
  penstock::synth_images(folder / "images", {.count = 200, .workers = 2}, {});
  const auto images = files_of(folder / "images");
  CHECK(images.size() == 200);
  CHECK(images.contains("class_07/000017.jpg"));
  CHECK(mean_bytes(images) > 95e3);
  CHECK(mean_bytes(images) < 125e3);
  int portrait = 0;
  for (const auto& [path, bytes] : images) {
    const penstock::Layout layout = decode(bytes, "jpg");
    CHECK(std::max(layout.shape[0], layout.shape[1]) <= 1024);
    CHECK(std::min(layout.shape[0], layout.shape[1]) >= 200);
    portrait += layout.shape[0] > layout.shape[1];
  }
  CHECK(portrait > 20);
  CHECK(portrait < 100);

  penstock::synth_icons(folder / "icons", {.count = 200, .workers = 2}, {});
  const auto icons = files_of(folder / "icons");
  CHECK(mean_bytes(icons) > 2000);
  CHECK(mean_bytes(icons) < 2600);
  for (const auto& [path, bytes] : icons) CHECK(decode(bytes, "png").shape == penstock::Shape{32, 32, 3});
}

TEST_CASE("a destination that holds something is refused and left as it is") {
  const TemporaryFolder folder;
  std::ofstream(folder / "mine.txt") << "mine";
  CHECK_THROWS_WITH_AS(penstock::synth_icons(folder.path(), {.count = 1}, {}), doctest::Contains("not empty"),
                       penstock::Error);
  CHECK(files_of(folder.path()).size() == 1);
}

TEST_CASE("an interrupted run leaves no destination, and the next run completes it") {
  const TemporaryFolder folder;
  const fs::path icons = folder / "icons";
  CHECK_THROWS_WITH_AS(
      penstock::synth_icons(icons, {.count = 500}, [](std::uint64_t done, std::uint64_t) { return done < 50; }),
      doctest::Contains("interrupted"), penstock::Error);
  CHECK_FALSE(fs::exists(icons));
  penstock::synth_icons(icons, {.count = 500}, {});
  CHECK(files_of(icons).size() == 500);
  CHECK_FALSE(fs::exists(folder / "icons.partial"));
}

}  // namespace penstock::test::workload_test
