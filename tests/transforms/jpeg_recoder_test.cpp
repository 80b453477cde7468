#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/recoding.hpp>
#include <transforms/image/jpeg/jpeg.hpp>
#include <transforms/image/jpt/jpt.hpp>
#include <transforms/recode/jpeg_recoder.hpp>
#include <transforms/value_reader.hpp>

#include "support/encoded.hpp"
#include "support/jpeg_files.hpp"
#include "support/test_data.hpp"

namespace penstock::test::jpeg_recoder_test {
namespace {

const FieldSchema kSchema{.name = "jpg", .codec = "jpeg"};

const Made kGray{.components = 1, .horizontal = 1, .vertical = 1, .stored = JCS_GRAYSCALE, .given = JCS_GRAYSCALE};

struct Decoded {
  Shape shape;
  Bytes pixels;
  friend bool operator==(const Decoded&, const Decoded&) = default;
};

Decoded decoded(std::span<const std::byte> file) {
  const FieldBytes field{&kSchema, file};
  const auto decoder = jpeg_codec().decoder(kSchema);
  Decoded image{decoder->peek(field).shape, {}};
  image.pixels.resize(element_count(image.shape));
  decoder->decode(field, nullptr, {image.pixels.data(), DType::u8, image.shape});
  return image;
}

Bytes recoded(JpegRecoder& recoder, std::span<const std::byte> file) {
  const auto bytes = recoder.recode(file);
  return {bytes.begin(), bytes.end()};
}

bool is_progressive(std::span<const std::byte> file) {
  for (std::size_t i = 2; i + 4 < file.size();) {
    const auto marker = std::to_integer<unsigned>(file[i + 1]);
    if (marker == 0xC2) return true;
    if (marker == 0xC0 || marker == 0xDA) return false;
    i += 2 + (std::to_integer<std::size_t>(file[i + 2]) << 8 | std::to_integer<std::size_t>(file[i + 3]));
  }
  return false;
}

Bytes with_stray_bytes(Bytes file, std::size_t count = 3) {
  file.insert(file.begin() + 2, count, std::byte{0x07});
  return file;
}

// As a loader reads a value of that name, turned upright.
Decoded read(std::span<const std::byte> value) {
  ReadValue read;
  ValueReader().read(kSchema, value, read);
  return {read.layout.shape, read.elements};
}

std::optional<Decoded> try_read(std::span<const std::byte> value) {
  try {
    return read(value);
  } catch (const Error& error) {
    CHECK(error.is_data_fault());
    return std::nullopt;
  }
}

// Sampling factors of the first component.
std::pair<unsigned, unsigned> sampling_of(std::span<const std::byte> file) {
  for (std::size_t i = 2; i + 11 < file.size();) {
    if (file[i + 1] == std::byte{0xC0}) {
      const auto factors = std::to_integer<unsigned>(file[i + 11]);
      return {factors >> 4, factors & 15};
    }
    i += 2 + (std::to_integer<std::size_t>(file[i + 2]) << 8 | std::to_integer<std::size_t>(file[i + 3]));
  }
  return {};
}

// The file with a comment and an EXIF block behind its first marker.
Bytes with_markers(Bytes file) {
  const char markers[] =
      "\xFF\xFE\x00\x07hello\xFF\xE1\x00\x0C"
      "Exif\0\0MM\0*";
  const auto* begin = reinterpret_cast<const std::byte*>(markers);
  file.insert(file.begin() + 2, begin, begin + sizeof markers - 1);
  return file;
}

bool contains(std::span<const std::byte> file, std::string_view text) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  return all.find(text) != std::string_view::npos;
}

double mean_difference(const Decoded& a, const Decoded& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    sum += std::abs(std::to_integer<int>(a.pixels[i]) - std::to_integer<int>(b.pixels[i]));
  return sum / static_cast<double>(a.pixels.size());
}

}  // namespace

TEST_CASE("baseline keeps every pixel of a progressive file, its markers, and the bytes of other files") {
  JpegRecoder recoder({.policy = JpegRecoding::Policy::baseline});
  for (const Made style : {Made{}, Made{.horizontal = 1, .vertical = 1}, kGray}) {
    Made progressive = style;
    progressive.progressive = true;
    const Bytes file = with_markers(make_jpeg(123, 77, progressive));
    REQUIRE(is_progressive(file));
    const Bytes made = recoded(recoder, file);
    CHECK_FALSE(is_progressive(made));
    CHECK(decoded(made) == decoded(file));
    CHECK(contains(made, "hello"));
    CHECK(contains(made, "Exif"));
    CHECK(recoded(recoder, made) == made);
    const Bytes plain = make_jpeg(123, 77, style);
    CHECK(recoder.recode(plain).data() == plain.data());
  }
}

TEST_CASE("a quality compresses again, in the sampling there was; a longest side shrinks, and only what is longer") {
  const Bytes file = with_markers(make_jpeg(320, 200, {.horizontal = 2, .vertical = 1}));
  JpegRecoder worse({.policy = JpegRecoding::Policy::quality, .quality = 50});
  const Bytes made = recoded(worse, file);
  CHECK(made.size() < file.size());
  CHECK(decoded(made).shape == Shape{200, 320, 3});
  CHECK(mean_difference(decoded(made), decoded(file)) < 20);
  CHECK(sampling_of(made) == std::pair(2U, 1U));
  CHECK(contains(made, "hello"));

  JpegRecoder small({.max_side = 160});
  CHECK(decoded(recoded(small, file)).shape == Shape{100, 160, 3});
  const Bytes fits = make_jpeg(160, 90, {});
  CHECK(small.recode(fits).data() == fits.data());
  CHECK(decoded(recoded(small, make_jpeg(200, 320, kGray))).shape == Shape{160, 100, 3});
}

TEST_CASE("bad bytes are an error, and the recoder goes on") {
  JpegRecoder recoder({.policy = JpegRecoding::Policy::quality, .quality = 80});
  Bytes file = make_jpeg(64, 64, {});
  const Bytes good = recoded(recoder, file);
  Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2));
  CHECK_THROWS_AS(recoder.recode(cut), Error);
  CHECK_THROWS_AS(recoder.recode({}), Error);
  CHECK(recoded(recoder, file) == good);
  CHECK_THROWS_AS(JpegRecoder({.quality = 0}), Error);
  CHECK_THROWS_AS(JpegRecoder({.max_side = -1}), Error);
}

TEST_CASE("a file with stray bytes behind its first marker is a JPEG, upright as any, and is made over") {
  for (const bool progressive : {false, true}) {
    Bytes file = with_stray_bytes(with_markers(make_jpeg(123, 77, {.progressive = progressive})));
    REQUIRE(jpeg_codec().recognises(file));
    CHECK(&codec_for({.name = "x", .codec = {}}, file) == &jpeg_codec());
    for (const char* policy : {"recode", "baseline"}) {
      JpegRecoder recoder(jpeg_recoding(policy, 0));
      const Bytes made = recoded(recoder, file);
      CHECK(recoder.kept_because().empty());
      CHECK((made == file) == (!progressive && policy == std::string_view("baseline")));
      CHECK(read(made) == decoded(file));
      JpegRecoder back(jpeg_recoding("original", 0));
      if (policy == std::string_view("recode")) CHECK(recoded(back, made) == file);
    }
  }
  CHECK_FALSE(jpeg_codec().recognises(Bytes{std::byte{0xFF}, std::byte{0xD8}, std::byte{0}, std::byte{0}}));
  CHECK_FALSE(jpeg_codec().recognises(
      Bytes{std::byte{0xFF}, std::byte{0xD8}, std::byte{0}, std::byte{0xFF}, std::byte{0x11}, std::byte{0}}));
  const FieldSchema recoded_field{.name = "jpg", .codec = "jpt"};
  const Bytes strange = with_stray_bytes(make_jpeg(20, 20, {}), 8000);  // more than are looked at
  CHECK_FALSE(jpeg_codec().recognises(strange));
  CHECK(&codec_for(recoded_field, strange) == &jpeg_codec());
  CHECK(&codec_for(recoded_field, {}) == &jpt_codec());
}

TEST_CASE("real files made over are read as before, and what cannot be made over stays, for a reason") {
  std::map<std::string, int> kept;
  int compared = 0;
  for (const char* policy : {"baseline", "recode"}) {
    JpegRecoder recoder(jpeg_recoding(policy, 0));
    for (const char* folder :
         {"images/jpeg_valid", "images/jpeg_odd", "images/jpeg_corrupt", "images/exif_orientation", "found/images"}) {
      for (const auto& path : ::test::data_files(folder)) {
        const Bytes file = ::test::read_file(path);
        CAPTURE(path.string());
        CAPTURE(policy);
        const std::optional<Decoded> before = try_read(file);
        try {
          const Bytes made = recoded(recoder, file);
          if (!recoder.kept_because().empty()) ++kept[recoder.kept_because()];
          if (made == file) continue;
          CHECK(recoder.kept_because().empty());
          REQUIRE(before);
          CHECK(read(made) == *before);
          ++compared;
        } catch (const Error& error) {
          CHECK(error.is_data_fault());
          CHECK(policy == std::string_view("baseline"));
          CHECK_FALSE(before);
        }
      }
    }
  }
  for (const auto& [reason, files] : kept) MESSAGE(files << " kept: " << reason);
  MESSAGE(compared << " files compared");
}

}  // namespace penstock::test::jpeg_recoder_test
