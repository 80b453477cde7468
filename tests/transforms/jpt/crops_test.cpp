// Crops of every photograph among the test data, beside the same part of libjpeg-turbo's whole image, at each SIMD
// level. PENSTOCK_CROPS says how many of each file at each level; PENSTOCK_CROPS=2000 takes an hour or so.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/jpt.hpp>

#include "support/libjpeg_pixels.hpp"
#include "support/simd_levels.hpp"
#include "support/test_data.hpp"

namespace penstock::test::crops_test {
namespace {

const FieldSchema kSchema{.name = "jpg", .codec = {}};
using Bytes = std::vector<std::byte>;

struct Image {
  Shape shape;
  Bytes pixels;
};

/// Decoded, and decoded by libjpeg-turbo itself where it makes RGB of it: the same.
Image whole_of(Decoder& decoder, JpegDecompressor& libjpeg, const Bytes& file) {
  const FieldBytes field{&kSchema, file};
  Image image{decoder.peek(field).shape, {}};
  image.pixels.resize(element_count(image.shape));
  decoder.decode(field, nullptr, {image.pixels.data(), DType::u8, image.shape});
  penstock::test::read_header(libjpeg, file);
  if (libjpeg.jpeg().num_components > 3) return image;
  const std::vector<std::uint8_t> pixels = penstock::test::libjpeg_pixels(libjpeg);
  CHECK(pixels.size() == image.pixels.size());
  CHECK(std::memcmp(pixels.data(), image.pixels.data(), pixels.size()) == 0);
  return image;
}

/// 1 to `side`, as often between 1 and 2 as between 100 and 200.
std::int64_t log_uniform(std::int64_t side, std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(0, std::log(static_cast<double>(side) + 1));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::exp(exponent(random))), 1, side);
}

Region random_region(const Shape& shape, std::mt19937_64& random) {
  Region r{0, 0, log_uniform(shape[1], random), log_uniform(shape[0], random)};
  r.x = std::uniform_int_distribution<std::int64_t>(0, shape[1] - r.width)(random);
  r.y = std::uniform_int_distribution<std::int64_t>(0, shape[0] - r.height)(random);
  return r;
}

bool is_part(const Bytes& pixels, const Image& whole, const Region& r) {
  const auto row_bytes = static_cast<std::size_t>(3 * r.width);
  for (std::int64_t y = 0; y < r.height; ++y) {
    const std::byte* row = whole.pixels.data() + 3 * ((r.y + y) * whole.shape[1] + r.x);
    if (std::memcmp(pixels.data() + static_cast<std::size_t>(y) * row_bytes, row, row_bytes) != 0) return false;
  }
  return true;
}

int differing(Decoder& decoder, const Bytes& field, const Image& whole, int crops, std::mt19937_64& random) {
  int different = 0;
  Bytes pixels;
  for (int i = 0; i < crops; ++i) {
    const Region r = random_region(whole.shape, random);
    const Shape shape{r.height, r.width, 3};
    pixels.resize(element_count(shape));
    decoder.peek({&kSchema, field});
    decoder.decode({&kSchema, field}, &r, {pixels.data(), DType::u8, shape});
    different += !is_part(pixels, whole, r);
  }
  return different;
}

int crops_asked_for() {
  const char* asked = std::getenv("PENSTOCK_CROPS");
  return asked == nullptr ? 3 : std::max(1, std::atoi(asked));
}

}  // namespace

TEST_CASE("crops of every photograph are parts of libjpeg-turbo's whole image, to the last bit") {
  const int crops = crops_asked_for();
  const auto jpeg = jpeg_codec().decoder(kSchema), jpt = jpt_codec().decoder(kSchema);
  JpegDecompressor libjpeg;
  penstock::jpt::Encoder encoder;
  std::map<std::string, std::vector<std::string>> kept;  // by the reason: files that libjpeg-turbo decodes
  std::map<std::string, std::uint64_t> compared;         // crops, by level
  std::uint64_t files = 0, undecodable = 0, seed = 0;
  for (const auto& path : ::test::data_files("images")) {
    const Bytes file = ::test::read_file(path);
    if (!jpeg_codec().recognises(file)) continue;
    CAPTURE(path.string());
    const auto made = encoder.encode(file);
    const Bytes field(made.begin(), made.end());
    Image whole;
    try {
      whole = whole_of(*jpeg, libjpeg, file);
    } catch (const Error&) {
      CHECK(field.empty());
      ++undecodable;
      continue;
    }
    if (field.empty()) {
      kept[encoder.kept_because()].push_back(path.filename().string());
      continue;
    }
    ++files;
    penstock::test::at_each_level([&] {
      std::mt19937_64 random(++seed);
      CHECK(differing(*jpt, field, whole, crops, random) == 0);
      compared[hwy::TargetName(hwy::SupportedTargets())] += static_cast<std::uint64_t>(crops);
    });
  }
  MESSAGE(files << " files compared, " << undecodable << " that libjpeg-turbo does not decode");
  for (const auto& [level, count] : compared) MESSAGE(count << " crops at level " << level);
  for (const auto& [reason, names] : kept) {
    std::string list;
    for (const std::string& name : names) list += " " + name;
    MESSAGE(names.size() << " decodable files stay JPEG, " << reason << ":" << list);
  }
}

}  // namespace penstock::test::crops_test
