// Decodes and resamples one file for tests/python/test_images.py, which compares the pixels with Pillow's.
//
//   image_oracle FILE rgb|stored                                       the whole image
//   image_oracle FILE INTERPOLATION CROP RESIZE CROP [flip]         CROP is x,y,width,height; RESIZE is width,height
//
// Prints "width height channels\n" and the pixels, row by row. Data faults: exit 1, and their message on stderr.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/image/kernels/resample.hpp>

using namespace penstock;

namespace {

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> values(1);
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    at = std::from_chars(at, end, values.back()).ptr;
    if (at < end) values.push_back(0);
  }
  return values;
}

Region region(const std::string& text) {
  const auto v = numbers(text);
  return {v.at(0), v.at(1), v.at(2), v.at(3)};
}

void print(const Shape& shape, const std::vector<std::byte>& pixels) {
  std::cout << shape[1] << ' ' << shape[0] << ' ' << shape[2] << '\n';
  std::cout.write(reinterpret_cast<const char*>(pixels.data()), static_cast<std::streamsize>(pixels.size()));
}

void run(const std::vector<std::string>& arguments) {
  std::ifstream file(arguments.at(0), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  const std::string& mode = arguments.at(1);
  const bool as_stored = mode == "stored" || mode == "nearest";  // masks
  const FieldSchema schema{.name = "image", .codec = ""};
  const auto decoder = codec_for(schema, bytes).decoder(schema, {.pixels = as_stored ? Pixels::stored : Pixels::rgb});
  const FieldBytes field{.schema = &schema, .bytes = bytes};
  Shape shape = decoder->peek(field).shape;
  std::vector<std::byte> pixels;
  if (arguments.size() == 2) {
    pixels.resize(element_count(shape));
    decoder->decode(field, nullptr, {pixels.data(), DType::u8, shape});
    return print(shape, pixels);
  }
  const auto size = numbers(arguments.at(3));
  Geometry geometry = Geometry::identity({shape[1], shape[0]})
                          .cropped(region(arguments.at(2)))
                          .resized({size.at(0), size.at(1)})
                          .cropped(region(arguments.at(4)));
  if (arguments.size() > 5) geometry = geometry.flipped();
  const Interpolation filter = static_cast<Interpolation>(std::ranges::find(kInterpolations, mode) - kInterpolations);
  const Region needed = geometry.needed(support(filter));
  pixels.resize(static_cast<std::size_t>(needed.width * needed.height * shape[2]));
  decoder->decode(field, &needed, {pixels.data(), DType::u8, {needed.height, needed.width, shape[2]}});
  std::vector<std::byte> out(static_cast<std::size_t>(geometry.window.width * geometry.window.height * shape[2]));
  Resampler().run({reinterpret_cast<const std::uint8_t*>(pixels.data()), needed.width * shape[2], shape[2], needed},
                  geometry, filter, {.data = out.data(), .channels_last = true});
  print({geometry.window.height, geometry.window.width, shape[2]}, out);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return error.is_data_fault() ? 1 : 2;
  }
}
