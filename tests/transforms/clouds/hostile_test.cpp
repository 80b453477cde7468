// What every codec of clouds does with files that lie: counts beyond the bytes, ends too early, coordinates that are
// NaN.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/program/program.hpp>

#include "support/clouds.hpp"
#include "support/filled.hpp"
#include "support/las_files.hpp"

namespace penstock::test::hostile_test {
namespace {

Bytes as_bytes(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

template <class T>
std::string binary(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kGood{1, 2, 3, 4, 5, 6}, kBad{1, 2, 3, 4, kNan, 6};  ///< two points; the second has no y

/// Files of two points, of which `count` many are claimed.
struct Kind {
  std::string codec;
  Bytes (*file)(const std::string& count, bool bad);
};

Bytes ply(const std::string& format, const std::string& count, const std::string& data) {
  return as_bytes("ply\nformat " + format + " 1.0\nelement vertex " + count +
                  "\nproperty float x\nproperty float y\nproperty float z\nend_header\n" + data);
}

std::string pcd(const std::string& count) {
  return "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH " + count + "\nHEIGHT 1\nPOINTS " +
         count + "\nDATA ";
}

std::string text(bool bad) {
  return bad ? "1 2 3\n4 nan 6\n" : "1 2 3\n4 5 6\n";
}

// Column by column; LZF with one run of bytes as they are.
std::string compressed(bool bad) {
  const std::string columns = binary<float>({1, 4, 2, bad ? kNan : 5, 3, 6});
  return binary<std::uint32_t>({25, 24}) + '\x17' + columns;
}

Bytes packed(const std::string& count, bool bad) {
  Bytes bytes;
  encode_cloud({.points = 2}, {.coordinates = bad ? kBad : kGood, .attributes = {}}, bytes);
  put(bytes, 16, static_cast<std::uint64_t>(std::stoull(count)));
  return bytes;
}

const std::vector<Kind> kKinds{
    {"ply", [](const std::string& count, bool bad) { return ply("ascii", count, text(bad)); }},
    {"ply",
     [](const std::string& count, bool bad) { return ply("binary_little_endian", count, binary(bad ? kBad : kGood)); }},
    {"pcd", [](const std::string& count, bool bad) { return as_bytes(pcd(count) + "ascii\n" + text(bad)); }},
    {"pcd",
     [](const std::string& count, bool bad) { return as_bytes(pcd(count) + "binary\n" + binary(bad ? kBad : kGood)); }},
    {"pcd",
     [](const std::string& count, bool bad) { return as_bytes(pcd(count) + "binary_compressed\n" + compressed(bad)); }},
    {"off", [](const std::string& count, bool bad) { return as_bytes("OFF\n" + count + " 0 0\n" + text(bad)); }},
    {"xyz", [](const std::string& count, bool bad) { return as_bytes(count + "\n" + text(bad)); }},
    {"points", packed},
};

std::vector<float> row(const std::string& codec, const Bytes& value, const Chain& chain) {
  Fields fields;
  fields.add({.name = "cloud", .codec = codec}, value);
  return elements<float>(fill(Program({{{"cloud", chain}}}, fields.catalog()), fields)[0]);
}

}  // namespace

TEST_CASE("a count beyond the bytes is a data fault in one line, and reserves no memory for it") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.codec);
    const auto& codec = *cloud_codec_named(kind.codec);
    CHECK(decode_cloud(codec, kind.file("2", false)).xyz == kGood);
    for (const char* count : {"3", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615"}) {
      CAPTURE(count);
      const std::string cause = refusal(codec, kind.file(count, false));
      CAPTURE(cause);
      CHECK((cause.starts_with("corrupt: ") || cause.starts_with("unsupported: ")));
      CHECK(cause.find('\n') == std::string::npos);
      CHECK(cause.size() < 300);
    }
  }
}

TEST_CASE("a file cut anywhere in its points is a data fault, or has fewer points where nothing counts them") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.codec);
    const auto& codec = *cloud_codec_named(kind.codec);
    const Bytes whole = kind.file("2", false);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      if (!decodes_or_refuses(codec, cut)) continue;
      const DecodedCloud cloud = decode_cloud(codec, cut);
      const bool text_ends = length + 2 >= whole.size();  // the last digit or line end of a text is missing
      CHECK((cloud.xyz == kGood || cloud.xyz.size() < kGood.size() || text_ends));
    }
  }
}

TEST_CASE("a point without a place is told by its number where points are taken, and left out where asked") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.codec);
    const Bytes value = kind.file("2", true);
    for (const Chain& chain : {points::sample(2), points::sample(2, "fps"), points::center()}) {
      CHECK_THROWS_WITH_AS(row(kind.codec, value, chain),
                           doctest::Contains("point 1 has a coordinate that is not finite"), Error);
    }
    CHECK(row(kind.codec, value, points::drop_nonfinite()) == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("LAS and LAZ whose scale or offset is no number are refused") {
  for (const char* name : {"las", "laz"}) {
    for (const std::size_t at : {131U, 139U, 147U, 155U, 163U, 171U}) {
      for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        CAPTURE(at);
        Bytes bytes = las_file({.minor = 4, .format = 6});
        put(bytes, at, value);
        if (std::string(name) == "laz") put(bytes, 104, std::uint8_t{6 | 128});
        CHECK(refusal(*cloud_codec_named(name), bytes).starts_with("corrupt: la"));
      }
    }
  }
}

TEST_CASE("LAS and LAZ of NaN alone are refused, or decode to what the integers say") {
  for (const char* name : {"las", "laz"}) {
    for (const unsigned format : {0U, 3U, 6U, 10U}) {
      Bytes bytes = las_file({.minor = 4, .format = format});
      const std::size_t records = bytes.size() - 10 * las_record_bytes(format);
      for (std::size_t at = records; at < bytes.size(); ++at) bytes[at] = std::byte{0xFF};  // NaN in every type
      if (std::string(name) == "laz") put(bytes, 104, static_cast<std::uint8_t>(format | 128));
      decodes_or_refuses(*cloud_codec_named(name), bytes);
      for (std::size_t at = 24; at < bytes.size(); ++at) {
        if (at < 94 || at >= 107) bytes[at] = std::byte{0xFF};  // but for where the points are and how long
      }
      CHECK_FALSE(decodes_or_refuses(*cloud_codec_named(name), bytes));
    }
  }
}

}  // namespace penstock::test::hostile_test
