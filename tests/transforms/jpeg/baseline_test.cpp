// Tests the decoder of flawless baseline files beside libjpeg: the same pixels, or none.
#include <optional>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/jpeg/baseline_decoder.hpp>

#include "support/jpeg_files.hpp"
#include "support/libjpeg_pixels.hpp"
#include "support/simd_levels.hpp"
#include "support/test_data.hpp"

namespace penstock::test::baseline_test {
namespace {

using Pixels8 = std::vector<std::uint8_t>;

Pixels8 cut(const Pixels8& whole, std::int64_t width, const Region& r) {
  Pixels8 part;
  for (std::int64_t y = r.y; y < r.y + r.height; ++y) {
    const auto row = whole.begin() + (y * width + r.x) * 3;
    part.insert(part.end(), row, row + r.width * 3);
  }
  return part;
}

/// Both decoders, reused from file to file.
struct Pair {
  JpegDecompressor libjpeg;
  jpeg::BaselineDecoder baseline;

  /// Nothing where the decoder does not take the file.
  std::optional<Pixels8> pixels(const Region& region) {
    Pixels8 out(static_cast<std::size_t>(region.width * region.height * 3));
    if (!baseline.decode(libjpeg.jpeg(), region, 3, out.data())) return std::nullopt;
    return out;
  }

  Region whole() {
    return {0, 0, std::int64_t{libjpeg.jpeg().output_width}, std::int64_t{libjpeg.jpeg().output_height}};
  }

  /// Checks the whole image and random regions of it; false where the decoder does not take the file.
  bool agree(std::span<const std::byte> file, int regions, unsigned denominator = 1) {
    penstock::test::read_header(libjpeg, file, denominator);
    const Region all = whole();
    const auto made = pixels(all);
    const Pixels8 expected = penstock::test::libjpeg_pixels(libjpeg);
    if (!made) return false;
    CHECK(*made == expected);
    std::mt19937_64 random(5);
    auto below = [&](std::int64_t bound) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
    };
    for (int i = 0; i < regions; ++i) {
      Region r{0, 0, 1 + below(all.width), 1 + below(all.height)};
      r.x = below(all.width - r.width + 1);
      r.y = below(all.height - r.height + 1);
      penstock::test::read_header(libjpeg, file, denominator);
      const auto part = pixels(r);
      REQUIRE(part.has_value());
      CHECK(*part == cut(expected, all.width, r));
    }
    return true;
  }
};

}  // namespace

TEST_CASE("every sampling, quality, table and restart interval gives libjpeg's pixels, at every SIMD level") {
  Pair pair;
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}}) {
    for (const auto& [quality, optimized] : {std::pair{10, false}, {75, true}, {95, false}, {100, true}}) {
      for (const unsigned interval : {0U, 1U, 5U, 64U}) {
        const auto file = make_jpeg(131, 77,
                                    {.horizontal = horizontal,
                                     .vertical = vertical,
                                     .optimized = optimized,
                                     .quality = quality,
                                     .restart_interval = interval});
        CAPTURE(horizontal);
        CAPTURE(vertical);
        CAPTURE(quality);
        CAPTURE(interval);
        CHECK(pair.agree(file, 6));
        if (horizontal > 2 || vertical > 2) continue;  // parts of shrunk images that libjpeg makes otherwise
        for (const unsigned denominator : {2U, 4U, 8U}) CHECK(pair.agree(file, 2, denominator));
      }
    }
  }
  const auto file = make_jpeg(64, 200, {.quality = 92});
  penstock::test::at_each_level([&] { CHECK(pair.agree(file, 20)); });
}

TEST_CASE("small images, RGB files and gray ones, whatever sampling they claim") {
  Pair pair;
  for (unsigned side = 1; side < 36; ++side) {
    CHECK(pair.agree(make_jpeg(side, 37 - side, {}), 5));
    CHECK(pair.agree(make_jpeg(37 - side, side, {.horizontal = 2, .vertical = 1, .quality = 100}), 5));
    CHECK(pair.agree(make_jpeg(side, 20, {.horizontal = 1, .vertical = 1, .stored = JCS_RGB}), 5));
    const int sampling = 1 + static_cast<int>(side % 3);
    CHECK(pair.agree(make_jpeg(side, 20,
                               {.components = 1,
                                .horizontal = sampling,
                                .vertical = sampling,
                                .restart_interval = side % 4,
                                .stored = JCS_GRAYSCALE,
                                .given = JCS_GRAYSCALE}),
                     5));
  }
}

TEST_CASE("other kinds of files are left to libjpeg") {
  Pair pair;
  CHECK_FALSE(pair.agree(make_jpeg(40, 40, {.progressive = true}), 0));
  penstock::test::read_header(pair.libjpeg,
                              make_jpeg(40, 40, {.components = 4, .stored = JCS_YCCK, .given = JCS_CMYK}));
  CHECK_FALSE(pair.pixels(pair.whole()).has_value());
}

TEST_CASE("coefficients that no pixels have are libjpeg's, whatever its inverse DCT makes of them") {
  Pair pair;
  int taken = 0, left = 0;
  for (const int factor : {1, 3, 8, 16, 32, 64, 128, 255}) {
    auto file = make_jpeg(72, 50, {.quality = 100});
    for (std::size_t i = 0; i + 69 < file.size(); ++i) {  // quantisation tables of 8 bits
      if (file[i] == std::byte{0xFF} && file[i + 1] == std::byte{0xDB})
        std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(i) + 5, 64, std::byte(std::uint8_t(factor)));
    }
    CAPTURE(factor);
    for (const unsigned denominator : {1U, 2U, 4U, 8U}) (pair.agree(file, 3, denominator) ? taken : left)++;
  }
  CHECK(taken >= 8);
  CHECK(left >= 8);
}

TEST_CASE("photographs and valid files: most are taken, and all of them alike") {
  Pair pair;
  int taken = 0, left = 0;
  auto look_at = [&](const std::filesystem::path& path) {
    CAPTURE(path.string());
    const auto file = ::test::read_file(path);
    try {
      (pair.agree(file, 4) ? taken : left)++;
    } catch (const Error&) {  // what libjpeg does not read
    }
  };
  const auto photographs = ::test::data_files("images/imagenet500");
  for (std::size_t i = 0; i < photographs.size(); i += 10) look_at(photographs[i]);
  CHECK(left <= taken / 10);
  for (const auto& path : ::test::data_files("images/jpeg_valid")) look_at(path);
  MESSAGE(taken << " files taken, " << left << " left to libjpeg");
}

TEST_CASE("damaged data gives libjpeg's pixels or none") {
  Pair pair;
  std::mt19937 random(9);
  int taken = 0;
  for (const unsigned interval : {0U, 3U}) {
    const auto flawless = make_jpeg(90, 60, {.optimized = true, .quality = 90, .restart_interval = interval});
    for (int i = 0; i < 4000; ++i) {
      auto file = flawless;
      for (auto changes = 1 + random() % 3; changes > 0; --changes)
        file[random() % file.size()] ^= std::byte(std::uint8_t(1U << random() % 8));
      if (random() % 4 == 0) file.resize(random() % file.size());
      try {
        penstock::test::read_header(pair.libjpeg, file);
        const Region all = pair.whole();
        if (all.width * all.height > 1 << 20) continue;
        const auto made = pair.pixels(all);
        if (!made) continue;
        const Pixels8 expected = penstock::test::libjpeg_pixels(pair.libjpeg);
        CHECK(*made == expected);
        ++taken;
      } catch (const Error&) {  // a header that libjpeg does not read; or it looks for bytes behind the last block
      }
    }
  }
  MESSAGE(taken << " damaged files decode all the same");
  CHECK(taken > 0);
}

}  // namespace penstock::test::baseline_test
