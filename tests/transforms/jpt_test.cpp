#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/extents.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

#include "support/encoded.hpp"
#include "support/jpeg_files.hpp"
#include "support/simd_levels.hpp"
#include "support/test_data.hpp"

namespace penstock::test::jpt_test {
namespace {

const FieldSchema kSchema{.name = "jpg", .codec = "jpt"};

struct Decoded {
  Shape shape;
  Bytes pixels;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decoded(Decoder& decoder, std::span<const std::byte> bytes, const Region* region = nullptr,
                unsigned shrink = 1) {
  const FieldBytes field{&kSchema, bytes};
  Decoded image{decoder.peek(field).shape, {}};
  if (shrink != 1) {
    const Size size = decoder.shrink(shrink).value();
    image.shape[0] = size.height;
    image.shape[1] = size.width;
  }
  if (region != nullptr) image.shape = {region->height, region->width, image.shape[2]};
  image.pixels.resize(element_count(image.shape));
  decoder.decode(field, region, {image.pixels.data(), DType::u8, image.shape});
  return image;
}

Decoded decoded(const Codec& codec, std::span<const std::byte> bytes, Pixels pixels = Pixels::rgb) {
  return decoded(*codec.decoder(kSchema, {.pixels = pixels}), bytes);
}

Bytes cut(const Decoded& whole, const Region& r) {
  const std::int64_t width = whole.shape[1], channels = whole.shape[2];
  Bytes part;
  for (std::int64_t y = r.y; y < r.y + r.height; ++y) {
    const auto row = whole.pixels.begin() + (y * width + r.x) * channels;
    part.insert(part.end(), row, row + r.width * channels);
  }
  return part;
}

Region random_region(const Shape& shape, std::mt19937_64& random, bool small) {
  auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  const std::int64_t most = small ? 9 : 1 << 20;
  Region r{0, 0, 1 + below(std::min(shape[1], most)), 1 + below(std::min(shape[0], most))};
  r.x = below(shape[1] - r.width + 1);
  r.y = below(shape[0] - r.height + 1);
  return r;
}

/// Number of regions of the field that differ from the same part of libjpeg-turbo's whole image.
int differing(std::span<const std::byte> field, const Decoded& whole, int regions, Decoder& decoder,
              unsigned shrink = 1) {
  std::mt19937_64 random(11);
  int different = decoded(decoder, field, nullptr, shrink) != whole;
  for (int i = 0; i < regions; ++i) {
    const Region r = random_region(whole.shape, random, i % 4 == 0);
    different += decoded(decoder, field, &r, shrink).pixels != cut(whole, r);
  }
  return different;
}

Bytes field_of(const Bytes& file, jpt::Encoder& encoder) {
  const auto field = encoder.encode(file);
  CAPTURE(encoder.kept_because());
  REQUIRE_FALSE(field.empty());
  return {field.begin(), field.end()};
}

Bytes file_of(const Bytes& field) {
  jpt::Restorer restorer;
  const auto file = restorer.restore(field);
  return {file.bytes.begin(), file.bytes.end()};
}

const Made kGray{.components = 1, .horizontal = 1, .vertical = 1, .stored = JCS_GRAYSCALE, .given = JCS_GRAYSCALE};

std::vector<Bytes> files_of_every_kind() {
  std::vector<Bytes> files;
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}, {1, 4}}) {
    for (const bool progressive : {false, true}) {
      for (const auto& [width, height] : {std::pair{203u, 141u}, {64u, 64u}, {17u, 300u}, {3u, 2u}, {1u, 1u}})
        files.push_back(
            make_jpeg(width, height, {.horizontal = horizontal, .vertical = vertical, .progressive = progressive}));
    }
  }
  files.push_back(make_jpeg(150, 131, kGray));
  files.push_back(make_jpeg(150, 131, {.horizontal = 1, .vertical = 1, .stored = JCS_RGB}));
  return files;
}

}  // namespace

TEST_CASE("pixels, whole and in part, are libjpeg-turbo's at every SIMD level, and the file comes back") {
  std::vector<std::pair<Bytes, Decoded>> fields;
  jpt::Encoder encoder, small_tiles(16);
  for (const Bytes& file : files_of_every_kind()) {
    const Decoded whole = decoded(jpeg_codec(), file);
    fields.emplace_back(field_of(file, encoder), whole);
    CHECK(encoder.exact());
    CHECK(file_of(fields.back().first) == file);
    fields.emplace_back(field_of(file, small_tiles), whole);
    CHECK(file_of(fields.back().first) == file);
  }
  at_each_level([&] {
    const auto decoder = jpt_codec().decoder(kSchema);
    for (const auto& [field, whole] : fields) {
      CAPTURE(whole.shape[0]);
      CAPTURE(whole.shape[1]);
      CHECK(differing(field, whole, 12, *decoder) == 0);
    }
  });
}

TEST_CASE("shrunk images, whole and in part, are those of libjpeg-turbo at every SIMD level") {
  struct Shrunk {
    Bytes field;
    unsigned by;
    Decoded whole;
  };
  std::vector<Shrunk> all;
  jpt::Encoder encoder, small_tiles(16);
  const auto jpeg = jpeg_codec().decoder(kSchema);
  std::vector<Bytes> files = files_of_every_kind();
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    for (unsigned size = 1; size < 34; size += 1 + size / 5)
      files.push_back(make_jpeg(size, 36 - size, {.horizontal = horizontal, .vertical = vertical}));
  }
  for (const Bytes& file : files) {
    jpeg->peek({&kSchema, file});
    const bool possible = jpeg->shrink(2).has_value();
    for (const unsigned by : {2U, 4U, 8U}) {
      const Bytes field = field_of(file, by == 4 ? small_tiles : encoder);
      const auto decoder = jpt_codec().decoder(kSchema);
      CHECK_FALSE(decoder->shrink(by));  // nothing was peeked
      decoder->peek({&kSchema, field});
      CHECK(decoder->shrink(by).has_value() == possible);
      if (possible) all.push_back({field, by, decoded(*jpeg, file, nullptr, by)});
    }
  }
  at_each_level([&] {
    const auto decoder = jpt_codec().decoder(kSchema);
    for (const auto& [field, by, whole] : all) {
      CAPTURE(by);
      CAPTURE(whole.shape[0]);
      CAPTURE(whole.shape[1]);
      CHECK(differing(field, whole, 8, *decoder, by) == 0);
    }
  });
}

TEST_CASE("the tiles that are named for a region suffice for it, whole and shrunk, and for nothing else") {
  jpt::Encoder encoder(32);
  std::mt19937_64 random(3);
  const auto decoder = jpt_codec().decoder(kSchema);
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    const Bytes field = field_of(make_jpeg(203, 141, {.horizontal = horizontal, .vertical = vertical}), encoder);
    const Bytes kept = jpt::kept_extents(field);
    CHECK(kept.size() < 300);
    std::uint64_t all_read = 0;
    for (int i = 0; i < 200; ++i) {
      const unsigned by = 1U << i % 4;
      jpt::Extents extents(kept);
      extents.frame().shrink(by);
      const Decoded whole = decoded(*decoder, field, nullptr, by);
      const Region r = random_region(whole.shape, random, i % 3 == 0);
      std::vector<ByteRange> ranges;
      extents.select(r, i % 5 == 0 ? 500 : 0, ranges);
      Bytes read;
      for (const ByteRange& range : ranges)
        read.insert(read.end(), field.begin() + static_cast<std::ptrdiff_t>(range.begin),
                    field.begin() + static_cast<std::ptrdiff_t>(range.end));
      all_read += read.size();
      const FieldBytes part{&kSchema, read, ranges};
      CHECK(decoder->peek(part).shape == Shape{141, 203, 3});
      if (by != 1) decoder->shrink(by);
      Bytes pixels(element_count({r.height, r.width, 3}));
      decoder->decode(part, &r, {pixels.data(), DType::u8, {r.height, r.width, 3}});
      CHECK(pixels == cut(whole, r));
      if (ranges.back().end == ranges[0].end || read.size() == field.size()) continue;
      // Less than was named is an error, and so are ranges that are not those of the bytes.
      std::vector<ByteRange> fewer(ranges.begin(), ranges.end() - 1);
      for (const FieldBytes& bad :
           {FieldBytes{&kSchema, read, fewer}, FieldBytes{&kSchema, std::span(read).first(read.size() - 1), ranges}}) {
        decoder->peek(bad);
        if (by != 1) decoder->shrink(by);
        CHECK_THROWS_AS(decoder->decode(bad, &r, {pixels.data(), DType::u8, {r.height, r.width, 3}}), Error);
      }
    }
    CHECK(all_read < 200 * field.size() * 8 / 10);
  }
}

TEST_CASE("the index keeps where tiles lie of large fields alone, and a crop of much is read whole") {
  jpt::Encoder encoder;
  CHECK(jpt_codec().header(field_of(make_jpeg(203, 141, {}), encoder)).empty());
  CHECK(jpt_codec().header(make_jpeg(1203, 1041, {})).empty());  // a JPEG file
  const Bytes large = field_of(make_jpeg(1203, 1041, {}), encoder);
  const Bytes header = jpt_codec().header(large);
  REQUIRE_FALSE(header.empty());
  const FieldHeader field{&kSchema, header, large.size()};
  CHECK(jpt_codec().layout(field)->shape == Shape{1041, 1203, 3});
  std::vector<ByteRange> ranges;
  CHECK_FALSE(jpt_codec().select_region(field, {5, 5, 1190, 1030}, 1, ranges));
  CHECK(ranges.empty());
  CHECK(jpt_codec().select_region(field, {300, 700, 200, 200}, 1, ranges));
  CHECK(ranges.size() >= 2);
  CHECK_FALSE(jpt_codec().select_region({&kSchema, {}, large.size()}, {300, 700, 200, 200}, 1, ranges));
  for (std::size_t size = 1; size < header.size(); ++size) {
    const FieldHeader damaged{&kSchema, std::span(header).first(size), large.size()};
    CHECK_THROWS_AS(jpt_codec().select_region(damaged, {0, 0, 9, 9}, 1, ranges), Error);
  }
}

TEST_CASE("gray images have one channel where numbers are asked for, as of a JPEG file") {
  jpt::Encoder encoder;
  for (const Bytes& file : {make_jpeg(33, 21, kGray), make_jpeg(33, 21, {})}) {
    const Bytes field = field_of(file, encoder);
    for (const Pixels pixels : {Pixels::rgb, Pixels::stored})
      CHECK(decoded(jpt_codec(), field, pixels) == decoded(jpeg_codec(), file, pixels));
  }
}

TEST_CASE("a file that cannot come back to the byte comes back by its coefficients, and says so") {
  jpt::Encoder encoder;
  int found = 0;
  for (unsigned width = 40; width < 60; ++width) {
    Bytes file = make_jpeg(width, 24, {});
    const Decoded whole = decoded(jpeg_codec(), file);
    file[file.size() - 3] &= std::byte{0xFE};  // the last bit before EOI: mostly padding, which is ones
    if (decoded(jpeg_codec(), file) != whole) continue;
    const Bytes field = field_of(file, encoder);
    if (encoder.exact()) continue;  // was a zero before
    jpt::Restorer restorer;
    const auto restored = restorer.restore(field);
    CHECK_FALSE(restored.exact);
    CHECK(decoded(jpeg_codec(), restored.bytes) == whole);
    CHECK(decoded(jpt_codec(), field) == whole);
    ++found;
  }
  CHECK(found > 0);
}

TEST_CASE("a file without Huffman tables has the standard ones, whatever came before it") {
  const Bytes file = make_jpeg(90, 70, {});
  Bytes bare;  // a frame of Motion JPEG
  for (std::size_t i = 0; i < file.size();) {
    const bool tables = file[i] == std::byte{0xFF} && i + 3 < file.size() && file[i + 1] == std::byte{0xC4};
    const auto length = std::to_integer<std::size_t>(file[i + 2 < file.size() ? i + 2 : i]) << 8 |
                        std::to_integer<std::size_t>(file[i + 3 < file.size() ? i + 3 : i]);
    if (tables) {
      i += 2 + length;
    } else {
      bare.push_back(file[i++]);
    }
  }
  REQUIRE(bare.size() + 300 < file.size());
  const auto jpeg = jpeg_codec().decoder(kSchema);
  const Decoded whole = decoded(*jpeg, file);
  jpt::Encoder encoder;
  JpegRecoder optimized(jpeg_recoding("quality:70", 0));
  for (int round = 0; round < 2; ++round) {
    const Bytes field = field_of(bare, encoder);
    CHECK(encoder.exact());
    CHECK(file_of(field) == bare);
    CHECK(decoded(jpt_codec(), field) == whole);
    CHECK(decoded(*jpeg, bare) == whole);
    const auto other = optimized.recode(make_jpeg(50, 40, {.progressive = true}));  // with tables of its own
    const Bytes between(other.begin(), other.end());
    field_of(between, encoder);
    decoded(*jpeg, between);
  }
}

TEST_CASE("markers, and what follows the image, come back") {
  Bytes file = make_jpeg(50, 40, {});
  const char text[] = "\xFF\xFE\x00\x07hello";
  const auto* begin = reinterpret_cast<const std::byte*>(text);
  file.insert(file.begin() + 2, begin, begin + sizeof text - 1);
  for (int i = 0; i < 300; ++i) file.push_back(static_cast<std::byte>(i * 7));
  jpt::Encoder encoder;
  CHECK(file_of(field_of(file, encoder)) == file);
}

TEST_CASE("what a field cannot hold stays a JPEG file, for a reason") {
  jpt::Encoder encoder;
  const Bytes cmyk = make_jpeg(20, 20, {.components = 4, .stored = JCS_CMYK, .given = JCS_CMYK});
  CHECK(encoder.encode(cmyk).empty());
  CHECK(encoder.kept_because() == "CMYK");
  const Bytes file = make_jpeg(80, 80, {.progressive = true});
  CHECK(encoder.encode(std::span(file).first(file.size() / 2)).empty());
  CHECK_FALSE(encoder.kept_because().empty());
  CHECK(encoder.encode({}).empty());
  CHECK(encoder.encode(make_jpeg(20, 20, {.horizontal = 3, .vertical = 1})).size() > 0);
  CHECK(decoded(jpt_codec(), field_of(file, encoder)) == decoded(jpeg_codec(), file));
}

TEST_CASE("the recoder makes fields, and of fields files, whatever it is asked for") {
  const Bytes file = make_jpeg(320, 200, {.progressive = true});
  JpegRecoder recode(jpeg_recoding("recode", 0)), original(jpeg_recoding("original", 0));
  const auto made = recode.recode(file);
  const Bytes field(made.begin(), made.end());
  REQUIRE(jpt_codec().recognises(field));
  CHECK(std::ranges::equal(original.recode(field), file));
  CHECK(recode.recode(field).data() == field.data());
  CHECK(original.recode(file).data() == file.data());
  JpegRecoder baseline(jpeg_recoding("baseline", 0));
  CHECK(decoded(jpeg_codec(), baseline.recode(field)) == decoded(jpeg_codec(), file));
  JpegRecoder small(jpeg_recoding("recode", 160)), small_file(jpeg_recoding("keep", 160));
  const auto shrunk = small.recode(field);
  REQUIRE(jpt_codec().recognises(shrunk));
  CHECK(decoded(jpt_codec(), shrunk) == decoded(jpeg_codec(), small_file.recode(file)));
  const Bytes cmyk = make_jpeg(20, 20, {.components = 4, .stored = JCS_CMYK, .given = JCS_CMYK});
  CHECK(recode.recode(cmyk).data() == cmyk.data());
  CHECK(recode.kept_because() == "CMYK");
  recode.recode(file);
  CHECK(recode.kept_because().empty());
  CHECK(policy_text(jpeg_recoding("recode", 0)) == "recode");
}

TEST_CASE("cut and damaged fields give an error or pixels, at every SIMD level") {
  jpt::Encoder encoder(32);
  const Bytes good = field_of(make_jpeg(70, 50, {}), encoder);
  at_each_level([&] {
    const auto decoder = jpt_codec().decoder(kSchema);
    jpt::Restorer restorer;
    auto survives = [&](const Bytes& field) {
      try {
        decoded(*decoder, field);
      } catch (const Error& error) {
        CHECK(error.is_data_fault());
      }
      try {
        restorer.restore(field);
      } catch (const Error& error) {
        CHECK(error.is_data_fault());
      }
    };
    for (std::size_t size = 0; size < good.size(); size += 1 + size / 50)
      survives({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    std::mt19937 random(5);
    for (int i = 0; i < 400; ++i) {
      Bytes field = good;
      const std::size_t at = i < 100 ? static_cast<std::size_t>(i) : random() % field.size();
      field[at] ^= static_cast<std::byte>(1U << random() % 8);
      survives(field);
    }
    CHECK(decoded(*decoder, good).pixels.size() == 70 * 50 * 3);
  });
}

TEST_CASE("a decoder does not mistake one field for another at the same place") {
  jpt::Encoder encoder;
  Bytes a = field_of(make_jpeg(48, 48, {}), encoder);
  const Bytes b = field_of(make_jpeg(48, 48, {.horizontal = 1, .vertical = 1}), encoder);
  const auto decoder = jpt_codec().decoder(kSchema);
  decoded(*decoder, a);
  a = b;
  const FieldBytes field{&kSchema, a};
  Bytes pixels(48 * 48 * 3);
  decoder->decode(field, nullptr, {pixels.data(), DType::u8, {48, 48, 3}});
  CHECK(pixels == decoded(jpt_codec(), b).pixels);
}

TEST_CASE(
    "real files: pixels of whole images and regions are the same, and files come back, or they stay what they are") {
  jpt::Encoder encoder;
  const auto decoder = jpt_codec().decoder(kSchema);
  const auto baseline = jpeg_codec().decoder(kSchema);
  std::map<std::string, int> kept;
  int recoded = 0, exact = 0, overflowing = 0;
  for (const char* folder : {"images/jpeg_valid", "images/jpeg_odd", "images/jpeg_corrupt"}) {
    for (const auto& path : ::test::data_files(folder)) {
      const Bytes file = ::test::read_file(path);
      CAPTURE(path.string());
      const auto made = encoder.encode(file);
      if (made.empty()) {
        ++kept[encoder.kept_because()];
        continue;
      }
      const Bytes field(made.begin(), made.end());
      ++recoded;
      exact += encoder.exact();
      const Decoded whole = decoded(*baseline, file);
      CHECK(differing(field, whole, 3, *decoder) == 0);
      baseline->peek({&kSchema, file});
      if (baseline->shrink(2)) {
        bool same = true;
        for (const unsigned by : {2U, 4U, 8U})
          same &= differing(field, decoded(*baseline, file, nullptr, by), 2, *decoder, by) == 0;
        // Numbers of damaged blocks may overflow: what comes of them depends on the implementation.
        CHECK((same || folder == std::string("images/jpeg_corrupt")));
        overflowing += !same;
      }
      const Bytes restored = file_of(field);
      CHECK((restored == file) == encoder.exact());
      CHECK(decoded(*baseline, restored) == whole);
    }
  }
  MESSAGE(recoded << " recoded, " << exact << " of them to the byte, " << overflowing << " overflow where shrunk");
  CHECK(overflowing <= 1);
  for (const auto& [reason, count] : kept) MESSAGE(count << " kept: " << reason);
}

}  // namespace penstock::test::jpt_test
