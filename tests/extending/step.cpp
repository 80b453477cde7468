// Uses the step of docs/extending.md: text, refusals, and the pixels of a loaded picture. Argument: a folder to write
// into.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>

namespace {

void require(bool fits, const std::string& what) {
  if (fits) return;
  std::cerr << "step: " << what << "\n";
  std::exit(1);
}

template <typename Write>
void refuses(Write write, const std::string& cause) {
  try {
    write();
    require(false, "taken, in place of: " + cause);
  } catch (const penstock::Error& error) {
    require(error.cause().find(cause) != std::string::npos, error.cause());
  }
}

}  // namespace

int main(int, char** arguments) {
  using namespace penstock;
  require(to_string(parse_chain("image.box_blur(1)")) == "image.box_blur(1)", "its text reads back as another");
  require(to_string(image::box_blur(2, 0.5)) == to_string(parse_chain("image.box_blur(2, probability=0.5)")),
          "its names");
  refuses([] { image::box_blur(-1); }, "image.box_blur() needs radius from 0 to 512");
  refuses([] { parse_chain("image.box_blur()"); }, "needs radius");
  refuses([] { parse_chain("image.box_blur(1, probability=2)"); }, "needs probability from 0 to 1");

  // One row of five gray pixels: numpy, version 1.0.
  const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "pictures";
  std::filesystem::create_directory(folder);
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 5), }";
  header.resize(117, ' ');
  std::ofstream(folder / "a.npy", std::ios::binary) << std::string("\x93NUMPY\1\0v\0", 10) << header << "\n"
                                                    << std::string("\0\0\x5A\0\0", 5);
  const Dataset dataset = open(folder);
  Loader loader(dataset, {.batch_size = 1, .transforms = {{"npy", image::decode() | image::box_blur(1)}}});
  const auto batch = loader.next();
  require(batch.has_value(), "there is no batch");
  const auto pixels = (*batch)["npy"].as<std::uint8_t>();
  const std::uint8_t expected[] = {0, 30, 30, 30, 0};
  require(pixels.size() == 5, "the picture is not 1 x 5");
  for (std::size_t i = 0; i < 5; ++i) require(pixels[i] == expected[i], "pixel " + std::to_string(i) + " is wrong");
}
