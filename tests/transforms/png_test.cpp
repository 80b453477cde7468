#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include <penstock/error.hpp>
#include <transforms/image/codecs/png.hpp>
#include <transforms/image/codecs/png_filters.hpp>

#include "support/test_data.hpp"

namespace penstock::test::png_test {
namespace {

const FieldSchema kSchema{.name = "png", .codec = "png"};
using Bytes = std::vector<std::uint8_t>;

void put32(Bytes& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

void put_chunk(Bytes& to, const std::string& type, const Bytes& data) {
  put32(to, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = to.size();
  to.insert(to.end(), type.begin(), type.end());
  to.insert(to.end(), data.begin(), data.end());
  put32(to, libdeflate_crc32(0, to.data() + begin, to.size() - begin));
}

struct Made {
  std::uint32_t width, height;
  std::uint8_t depth, color;
  Bytes rows;  ///< with filter bytes
  Bytes palette = {};
  std::size_t pieces = 1;  ///< IDAT chunks
};

std::vector<std::byte> make_png(const Made& made) {
  Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Bytes header;
  put32(header, made.width);
  put32(header, made.height);
  header.insert(header.end(), {made.depth, made.color, 0, 0, 0});
  put_chunk(png, "IHDR", header);
  if (!made.palette.empty()) put_chunk(png, "PLTE", made.palette);
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  Bytes data(libdeflate_zlib_compress_bound(compressor, made.rows.size()));
  data.resize(libdeflate_zlib_compress(compressor, made.rows.data(), made.rows.size(), data.data(), data.size()));
  libdeflate_free_compressor(compressor);
  for (std::size_t i = 0; i < made.pieces; ++i) {
    const auto from = static_cast<std::ptrdiff_t>(data.size() * i / made.pieces);
    const auto to = static_cast<std::ptrdiff_t>(data.size() * (i + 1) / made.pieces);
    put_chunk(png, "IDAT", Bytes(data.begin() + from, data.begin() + to));
  }
  put_chunk(png, "IEND", {});
  const auto* bytes = reinterpret_cast<const std::byte*>(png.data());
  return {bytes, bytes + png.size()};
}

Bytes decode(Decoder& decoder, std::span<const std::byte> bytes, const Region* region = nullptr) {
  const FieldBytes field{.schema = &kSchema, .bytes = bytes};
  const Layout layout = decoder.peek(field);
  Shape shape = layout.shape;
  if (region != nullptr) shape = {region->height, region->width, shape[2]};
  Bytes pixels(element_count(shape) * size_of(layout.dtype));
  decoder.decode(field, region, {reinterpret_cast<std::byte*>(pixels.data()), layout.dtype, shape});
  return pixels;
}

Bytes rgb(std::span<const std::byte> bytes) {
  return decode(*png_codec().decoder(kSchema), bytes);
}
Bytes stored(std::span<const std::byte> bytes) {
  return decode(*png_codec().decoder(kSchema, {.pixels = Pixels::stored}), bytes);
}

}  // namespace

TEST_CASE("the five filters are undone as the specification writes them") {
  const Bytes above{10, 20, 30, 40, 50, 60, 70, 250};
  auto undone = [&](std::uint8_t type, std::size_t pixel_bytes) {
    Bytes row{1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(undo_png_filter(type, row.data(), above.data(), row.size(), pixel_bytes));
    return row;
  };
  auto by_definition = [&](std::uint8_t type, std::size_t n) {
    Bytes row{1, 2, 3, 4, 5, 6, 7, 8};
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int a = i < n ? 0 : row[i - n], b = above[i], c = i < n ? 0 : above[i - n];
      const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
      const int nearest = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      const int add[] = {0, a, b, (a + b) / 2, nearest};
      row[i] = static_cast<std::uint8_t>(row[i] + add[type]);
    }
    return row;
  };
  for (std::uint8_t type = 0; type < 5; ++type) {
    for (const std::size_t n : {1u, 2u, 4u, 8u}) CHECK(undone(type, n) == by_definition(type, n));
  }
  Bytes row(8);
  CHECK_FALSE(undo_png_filter(5, row.data(), above.data(), 8, 1));
}

TEST_CASE("every colour type becomes RGB, and one-channel ones can be had as stored") {
  const auto color = make_png({2, 1, 8, 2, {0, 1, 2, 3, 4, 5, 6}});
  CHECK(rgb(color) == Bytes{1, 2, 3, 4, 5, 6});
  CHECK(stored(color) == Bytes{1, 2, 3, 4, 5, 6});
  CHECK(rgb(make_png({2, 1, 8, 6, {0, 1, 2, 3, 99, 4, 5, 6, 0}})) == Bytes{1, 2, 3, 4, 5, 6});
  CHECK(rgb(make_png({1, 1, 16, 2, {0, 1, 99, 2, 99, 3, 99}})) == Bytes{1, 2, 3});
  const auto gray = make_png({3, 1, 2, 0, {0, 0b00011011}});
  CHECK(rgb(gray) == Bytes{0, 0, 0, 85, 85, 85, 170, 170, 170});
  CHECK(stored(gray) == Bytes{0, 1, 2});
  const auto alpha = make_png({2, 1, 8, 4, {0, 7, 255, 8, 0}});
  CHECK(rgb(alpha) == Bytes{7, 7, 7, 8, 8, 8});
  CHECK(stored(alpha) == Bytes{7, 8});
  const auto indexed = make_png({3, 1, 4, 3, {0, 0x10, 0x50}, {1, 2, 3, 4, 5, 6}});
  CHECK(rgb(indexed) == Bytes{4, 5, 6, 1, 2, 3, 0, 0, 0});
  CHECK(stored(indexed) == Bytes{1, 0, 5});
}

TEST_CASE("of 16 bits the upper 8 become RGB, and all are stored as uint16, without alpha") {
  const auto gray = make_png({2, 1, 16, 0, {0, 0, 9, 1, 2}}), both = make_png({1, 1, 16, 4, {0, 3, 4, 5, 6}});
  CHECK(rgb(gray) == Bytes{0, 0, 0, 1, 1, 1});
  CHECK(stored(gray) == Bytes{9, 0, 2, 1});  // little-endian
  CHECK(rgb(both) == Bytes{3, 3, 3});
  CHECK(stored(both) == Bytes{4, 3});
  const auto color = make_png({1, 1, 16, 2, {0, 1, 2, 3, 4, 5, 6}});
  const auto clear = make_png({1, 1, 16, 6, {0, 1, 2, 3, 4, 5, 6, 7, 8}});
  for (const auto& file : {color, clear}) {
    CHECK(rgb(file) == Bytes{1, 3, 5});
    CHECK(stored(file) == Bytes{2, 1, 4, 3, 6, 5});
  }
  const Region right{1, 0, 1, 1};
  CHECK(decode(*png_codec().decoder(kSchema, {.pixels = Pixels::stored}), gray, &right) == Bytes{2, 1});
  const FieldBytes field{.schema = &kSchema, .bytes = gray};
  CHECK(png_codec().decoder(kSchema, {.pixels = Pixels::stored})->peek(field).dtype == DType::u16);
}

TEST_CASE("data in several chunks, and regions") {
  Made made{40, 30, 8, 2, {}};
  std::mt19937 random(5);
  for (int y = 0; y < 30; ++y) {
    made.rows.push_back(static_cast<std::uint8_t>(y % 5));
    for (int i = 0; i < 120; ++i) made.rows.push_back(static_cast<std::uint8_t>(random()));
  }
  const Bytes whole = rgb(make_png(made));
  made.pieces = 7;
  const auto bytes = make_png(made);
  CHECK(rgb(bytes) == whole);
  const Region part{7, 11, 13, 5};
  const Bytes pixels = decode(*png_codec().decoder(kSchema), bytes, &part);
  for (std::size_t y = 0; y < 5; ++y) {
    for (std::size_t i = 0; i < 39; ++i) REQUIRE(pixels[y * 39 + i] == whole[(y + 11) * 120 + 21 + i]);
  }
}

TEST_CASE("a flipped bit anywhere before the end, and data cut anywhere, are corrupt") {
  const auto bytes = make_png({2, 2, 8, 2, {0, 1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1, 1}});
  for (std::size_t i = 0; i + 12 < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{1};
    CAPTURE(i);
    CHECK_THROWS_AS(rgb(damaged), Error);
    CHECK_THROWS_AS(rgb(std::span(bytes).first(i)), Error);
  }
}

TEST_CASE("a header that promises more pixels than its data can hold costs nothing") {
  const auto bytes = make_png({9000, 9000, 8, 2, {0}});
  CHECK_THROWS_WITH(rgb(bytes), doctest::Contains("too short"));
}

TEST_CASE("images of 100 megapixels and more are decoded, those that Pillow takes for a bomb are refused") {
  CHECK_THROWS_WITH(rgb(make_png({10'000, 10'000, 8, 2, {0}})), doctest::Contains("too short"));
  CHECK_THROWS_WITH(rgb(make_png({13'377, 13'377, 8, 2, {0}})), doctest::Contains("too short"));
  CHECK_THROWS_WITH(rgb(make_png({13'378, 13'378, 8, 2, {0}})),
                    doctest::Contains("13378 x 13378 pixels is larger than 2^29 bytes"));
}

TEST_CASE("odd and damaged files give an image or a data fault") {
  const auto decoder = png_codec().decoder(kSchema);
  const auto masks = png_codec().decoder(kSchema, {.pixels = Pixels::stored});
  for (const char* folder : {"images/pngsuite", "images/png_odd", "images/png_corrupt"}) {
    int images = 0, faults = 0;
    for (const auto& path : ::test::data_files(folder)) {
      CAPTURE(path.string());
      const auto bytes = ::test::read_file(path);
      for (Decoder* each : {decoder.get(), masks.get()}) {
        try {
          decode(*each, bytes);
          images += each == decoder.get();
        } catch (const Error& error) {
          CHECK(error.is_data_fault());
          faults += each == decoder.get();
        }
      }
    }
    MESSAGE(std::string(folder) << ": " << images << " images, " << faults << " faults");
  }
}

}  // namespace penstock::test::png_test
