// Uses the codec of docs/extending.md: a folder of QOI images, loaded. Argument: a folder to write into.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <transforms/first_bytes.hpp>

namespace {

void require(bool fits, const char* what) {
  if (fits) return;
  std::cerr << "codec: " << what << "\n";
  std::exit(1);
}

}  // namespace

int main(int, char** arguments) {
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "images";
  std::filesystem::create_directory(folder);
  // 4 x 2: one pixel in full, one that differs a little, one by its green, one seen before, and a run of four.
  const std::string image("qoif\0\0\0\4\0\0\0\2\3\0\xFE\x0A\x14\x1E\x7F\xA5\x9A\x30\xC3\0\0\0\0\0\0\0\1", 31);
  std::ofstream(folder / "a.qoi", std::ios::binary) << image;
  const penstock::Dataset dataset = penstock::open(folder);
  require(dataset.fields()[0].name == "qoi" && dataset.fields()[0].codec == "qoi", "the extension is not known");
  require(penstock::extension_of(std::as_bytes(std::span(image))) == "qoi", "the first bytes are not known");
  penstock::Loader loader(
      dataset,
      {.batch_size = 1, .transforms = {{"qoi", penstock::image::decode() | penstock::image::channels_last()}}});
  const auto batch = loader.next();
  require(batch.has_value(), "there is no batch");
  const auto pixels = (*batch)["qoi"].as<std::uint8_t>();
  const std::uint8_t expected[] = {10, 20, 30, 11, 21, 31, 17, 26, 38};
  require(pixels.size() == 4 * 2 * 3, "the image is not 4 x 2");
  for (std::size_t i = 0; i < std::size(expected); ++i) require(pixels[i] == expected[i], "wrong pixels");
  try {
    penstock::Loader refused(dataset, {.batch_size = 1, .transforms = {{"qoi", penstock::label()}}});
    require(false, "label() takes images");
  } catch (const penstock::Error& error) {
    require(error.cause().find("which holds images") != std::string::npos, "label() refuses them for another reason");
  }
}
