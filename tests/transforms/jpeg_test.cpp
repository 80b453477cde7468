#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <jpeglib.h>

#include <penstock/error.hpp>
#include <transforms/image/jpeg/jpeg.hpp>

#include "support/jpeg_files.hpp"
#include "support/test_data.hpp"

namespace penstock::test::jpeg_test {
namespace {

const FieldSchema kSchema{.name = "jpg", .codec = "jpeg"};

struct Decoded {
  Layout layout;
  std::vector<std::byte> pixels;
};

Decoded decode(Decoder& decoder, std::span<const std::byte> bytes, const Region* region = nullptr,
               unsigned shrink = 1) {
  const FieldBytes field{.schema = &kSchema, .bytes = bytes};
  Decoded result{decoder.peek(field), {}};
  if (shrink != 1) {
    const Size size = decoder.shrink(shrink).value();
    result.layout.shape[0] = size.height;
    result.layout.shape[1] = size.width;
  }
  Shape shape = result.layout.shape;
  if (region != nullptr) shape = {region->height, region->width, shape[2]};
  result.pixels.resize(element_count(shape));
  decoder.decode(field, region, {result.pixels.data(), DType::u8, shape});
  return result;
}

std::vector<std::byte> cut(const Decoded& whole, const Region& r) {
  const std::int64_t width = whole.layout.shape[1], channels = whole.layout.shape[2];
  std::vector<std::byte> part;
  for (std::int64_t y = r.y; y < r.y + r.height; ++y) {
    const auto row = whole.pixels.begin() + (y * width + r.x) * channels;
    part.insert(part.end(), row, row + r.width * channels);
  }
  return part;
}

/// Number of random regions that differ from the same part of the whole image.
int differing_regions(Decoder& decoder, std::span<const std::byte> bytes, int regions, unsigned shrink = 1) {
  const Decoded whole = decode(decoder, bytes, nullptr, shrink);
  const std::int64_t height = whole.layout.shape[0], width = whole.layout.shape[1];
  std::mt19937_64 random(11);
  auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  int different = 0;
  for (int i = 0; i < regions; ++i) {
    Region r{0, 0, 1 + below(width), 1 + below(height)};
    r.x = below(width - r.width + 1);
    r.y = below(height - r.height + 1);
    different += decode(decoder, bytes, &r, shrink).pixels != cut(whole, r);
  }
  return different;
}

}  // namespace

TEST_CASE("a region equals the same part of the whole image, for every sampling, baseline and progressive") {
  const auto decoder = jpeg_codec().decoder(kSchema);
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}, {1, 4}}) {
    for (const bool progressive : {false, true}) {
      for (const auto& [width, height] : {std::pair{203u, 141u}, {64u, 64u}, {17u, 300u}}) {
        CAPTURE(horizontal);
        CAPTURE(vertical);
        CAPTURE(progressive);
        CAPTURE(width);
        const auto bytes =
            make_jpeg(width, height, {.horizontal = horizontal, .vertical = vertical, .progressive = progressive});
        CHECK(differing_regions(*decoder, bytes, 40) == 0);
        for (const unsigned shrink : {2U, 4U, 8U}) {
          if (horizontal <= 2 && vertical <= 2) {
            CHECK(differing_regions(*decoder, bytes, 20, shrink) == 0);
          } else {
            decoder->peek({.schema = &kSchema, .bytes = bytes});
            CHECK(decoder->shrink(shrink) == std::nullopt);
          }
        }
      }
    }
  }
}

TEST_CASE("a shrunk image has the means of the pixels that each of its own stands for, nearly") {
  const auto decoder = jpeg_codec().decoder(kSchema);
  const auto files = ::test::data_files("images/imagenet500");
  for (std::size_t i = 0; i < files.size(); i += 50) {
    const auto bytes = ::test::read_file(files[i]);
    const Decoded whole = decode(*decoder, bytes);
    for (const unsigned shrink : {2U, 4U, 8U}) {
      const Decoded small = decode(*decoder, bytes, nullptr, shrink);
      const auto by = static_cast<std::int64_t>(shrink);
      CHECK(small.layout.shape[0] == (whole.layout.shape[0] + by - 1) / by);
      CHECK(small.layout.shape[1] == (whole.layout.shape[1] + by - 1) / by);
      double difference = 0;
      const std::int64_t rows = whole.layout.shape[0] / by, columns = whole.layout.shape[1] / by;
      for (std::int64_t y = 0; y < rows; ++y) {
        for (std::int64_t x = 0; x < columns; ++x) {
          double sum = 0;
          for (std::int64_t dy = 0; dy < by; ++dy) {
            for (std::int64_t dx = 0; dx < by; ++dx)
              sum += std::to_integer<int>(
                  whole
                      .pixels[static_cast<std::size_t>(((y * by + dy) * whole.layout.shape[1] + x * by + dx) * 3 + 1)]);
          }
          const auto at = static_cast<std::size_t>((y * small.layout.shape[1] + x) * 3 + 1);
          difference += std::abs(sum / static_cast<double>(by * by) - std::to_integer<int>(small.pixels[at]));
        }
      }
      CHECK(difference / static_cast<double>(rows * columns) < 3);
    }
  }
}

TEST_CASE("a region equals the same part of the whole image, for photographs") {
  const auto decoder = jpeg_codec().decoder(kSchema);
  const auto files = ::test::data_files("images/imagenet500");
  for (std::size_t i = 0; i < files.size(); i += 10) {
    CAPTURE(files[i].string());
    CHECK(differing_regions(*decoder, ::test::read_file(files[i]), 6) == 0);
  }
  for (const auto& path : ::test::data_files("images/jpeg_valid")) {
    CAPTURE(path.string());
    const auto bytes = ::test::read_file(path);
    if (!jpeg_codec().recognises(bytes)) continue;  // one of them is a PNG
    int different = 0;
    try {
      different = differing_regions(*decoder, bytes, 4);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unsupported);
    }
    CHECK(different == 0);
  }
}

TEST_CASE("gray is replicated, or delivered as one channel when asked for as stored") {
  const auto bytes = make_jpeg(
      33, 20, {.components = 1, .horizontal = 1, .vertical = 1, .stored = JCS_GRAYSCALE, .given = JCS_GRAYSCALE});
  const auto rgb = decode(*jpeg_codec().decoder(kSchema), bytes);
  const auto gray = decode(*jpeg_codec().decoder(kSchema, {.pixels = Pixels::stored}), bytes);
  CHECK(rgb.layout.shape == Shape{20, 33, 3});
  REQUIRE(gray.layout.shape == Shape{20, 33, 1});
  for (std::size_t i = 0; i < rgb.pixels.size(); ++i) REQUIRE(rgb.pixels[i] == gray.pixels[i / 3]);
}

TEST_CASE("four inks become RGB with Adobe's inverted values, in regions too") {
  const auto decoder = jpeg_codec().decoder(kSchema);
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    const auto bytes =
        make_jpeg(50, 40, {.components = 4, .horizontal = 1, .vertical = 1, .stored = stored, .given = JCS_CMYK});
    CHECK(decode(*decoder, bytes).layout.shape == Shape{40, 50, 3});
    CHECK(differing_regions(*decoder, bytes, 20) == 0);
  }
}

TEST_CASE("data cut anywhere is an error or an image, never anything else") {
  const auto decoder = jpeg_codec().decoder(kSchema);
  for (const bool progressive : {false, true}) {
    const auto bytes = make_jpeg(60, 45, {.progressive = progressive});
    int errors = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      try {
        decode(*decoder, std::vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
      } catch (const Error& error) {
        CHECK(error.is_data_fault());
        ++errors;
      }
    }
    CHECK(errors >= static_cast<int>(bytes.size()) - 4);  // libjpeg does not look for the end marker of a whole image
    CHECK(decode(*decoder, bytes).layout.shape == Shape{45, 60, 3});
  }
}

TEST_CASE("what follows the last line of a region is not read") {
  auto bytes = make_jpeg(64, 640, {});
  bytes.resize(bytes.size() / 2);
  const auto decoder = jpeg_codec().decoder(kSchema);
  const Region top{5, 10, 40, 30};
  CHECK(decode(*decoder, bytes, &top).pixels.size() == 40 * 30 * 3);
  CHECK_THROWS_AS(decode(*decoder, bytes), Error);
}

TEST_CASE("a header that promises more pixels than its data can hold costs nothing") {
  auto bytes = make_jpeg(16, 16, {});
  for (std::size_t i = 0; i + 9 < bytes.size(); ++i) {
    if (bytes[i] != std::byte{0xFF} || bytes[i + 1] != std::byte{0xC0}) continue;
    bytes[i + 5] = bytes[i + 7] = std::byte{0x20};  // 8208 x 8208
    break;
  }
  CHECK_THROWS_WITH(decode(*jpeg_codec().decoder(kSchema), bytes), doctest::Contains("too short"));
}

TEST_CASE("odd and damaged files give an image or a data fault") {
  const auto decoder = jpeg_codec().decoder(kSchema);
  for (const char* folder : {"images/jpeg_odd", "images/jpeg_corrupt"}) {
    int images = 0, faults = 0;
    for (const auto& path : ::test::data_files(folder)) {
      CAPTURE(path.string());
      const auto bytes = ::test::read_file(path);
      try {
        const Decoded whole = decode(*decoder, bytes);
        const Region middle{whole.layout.shape[1] / 3, whole.layout.shape[0] / 3, (whole.layout.shape[1] + 2) / 3,
                            (whole.layout.shape[0] + 2) / 3};
        CHECK(decode(*decoder, bytes, &middle).pixels == cut(whole, middle));
        ++images;
      } catch (const Error& error) {
        CHECK(error.is_data_fault());
        ++faults;
      }
    }
    MESSAGE(std::string(folder) << ": " << images << " images, " << faults << " faults");
  }
}

TEST_CASE("regions outside the image are refused") {
  const auto bytes = make_jpeg(16, 16, {});
  const auto decoder = jpeg_codec().decoder(kSchema);
  for (const Region& r : {Region{-1, 0, 4, 4}, Region{0, 13, 4, 4}, Region{0, 0, 0, 4}, Region{0, 0, 17, 4}}) {
    std::vector<std::byte> out(17 * 17 * 3);
    decoder->peek({.schema = &kSchema, .bytes = bytes});
    CHECK_THROWS_AS(
        decoder->decode({.schema = &kSchema, .bytes = bytes}, &r, {out.data(), DType::u8, {r.height, r.width, 3}}),
        Error);
  }
}

}  // namespace penstock::test::jpeg_test
