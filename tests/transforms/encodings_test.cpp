#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/encodings.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/first_bytes.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

namespace penstock::test::encodings_test {
namespace {

std::string laz_header() {
  std::string header("LASF");
  header.resize(375);
  header[104] = static_cast<char>(0x83);  // the compressed form of record type 3
  return header;
}

// What a value of each codec begins with; nothing for those that any bytes could be of.
const std::map<std::string, std::string> kBeginnings{
    {"jpeg", "\xFF\xD8\xFF\xE0"},
    {"png", "\x89PNG\r\n\x1A\n"},
    {"webp", std::string("RIFF\1\0\0\0WEBPVP8 ", 16)},
    {"jpt", "JPT\1"},
    {"npy", std::string("\x93NUMPY\1\0", 8)},
    {"las", "LASF"},
    {"laz", laz_header()},
    {"points", "PSPOINTS"},
    {"ply", "ply\nformat ascii 1.0\n"},
    {"pcd", "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\n"},
    {"off", "OFF\n3 1 0\n"},
    {"xyz", ""},
    {"cls", ""},
    {"txt", ""},
    {"json", ""},
    {"raw", ""},
    {"tokens", ""},
};

std::string refusal_of_label(const std::string& codec) {
  Fields fields;
  fields.add({.name = "x", .codec = codec}, to_bytes("7"));
  try {
    const std::vector<FieldChain> chains{{"y", field("x") | label()}};
    const Program program(chains, fields.catalog());
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the traits of an encoding fit its kind, and tell the codecs of a kind apart where readers must") {
  for (const Encoding& encoding : encodings()) {
    CAPTURE(encoding.codec);
    CAPTURE(encoding.extensions[0]);
    const EncodingTraits& traits = encoding.traits;
    const ValueKind kind = encoding.kind;
    CHECK((traits.array_file + traits.elements) == (kind == ValueKind::array ? 1 : 0));
    CHECK((traits.in_place + traits.tokens) == (traits.elements ? 1 : 0));
    CHECK((traits.label + traits.free_text + traits.members) == (kind == ValueKind::text ? 1 : 0));
    if (traits.jpeg_file) CHECK(traits.photograph);
    if (traits.photograph) CHECK(kind == ValueKind::image);
    if (traits.mesh || traits.table) CHECK(kind == ValueKind::cloud);
    if (traits.bare_points) CHECK(encoding.codec.empty());
  }
}

TEST_CASE("traits are found by a codec's name or an extension, and an unknown name has none") {
  CHECK(codec_traits("jpeg").jpeg_file);
  CHECK(codec_traits("jpt").photograph);
  CHECK_FALSE(codec_traits("jpt").jpeg_file);
  CHECK(codec_traits("raw").in_place);
  CHECK(codec_traits("tokens").tokens);
  CHECK(codec_traits("cls").label);
  CHECK(extension_traits("cls").label);
  CHECK(extension_traits("csv").table);
  CHECK_FALSE(extension_traits("left.cls").label);
  CHECK(extension_traits("bin").bare_points);
  for (const char* unknown : {"", "mine", "x.jpg"}) {
    CHECK_FALSE(codec_traits(unknown).label);
    CHECK_FALSE(codec_traits(unknown).elements);
    CHECK_FALSE(extension_traits(unknown).bare_points);
  }
}

TEST_CASE("every codec stands in the table of encodings, which says what it gives") {
  for (const Codec* codec : codecs()) {
    CAPTURE(codec->name());
    const Encoding* encoding = encoding_of_codec(codec->name());
    REQUIRE(encoding != nullptr);
    CHECK((encoding->kind == ValueKind::cloud) == (dynamic_cast<const CloudCodec*>(codec) != nullptr));
    CHECK(encoding->kind != ValueKind::other);
    if (codec->selects_regions()) CHECK(encoding->kind == ValueKind::image);
  }
  for (const Encoding& encoding : encodings()) {
    CAPTURE(encoding.codec);
    CHECK(encoding.codec.empty() == (codec_named(encoding.codec) == nullptr));
    CHECK(kind_of_codec(encoding.codec) == (encoding.codec.empty() ? ValueKind::other : encoding.kind));
    if (encoding.codec.empty()) CHECK_FALSE(encoding.extensions[0].empty());
  }
}

TEST_CASE("a codec recognises what the table says its values begin with, and their extension is found") {
  for (const Codec* codec : codecs()) {
    CAPTURE(codec->name());
    const Encoding& encoding = *encoding_of_codec(codec->name());
    const auto beginning = kBeginnings.find(std::string(codec->name()));
    REQUIRE(beginning != kBeginnings.end());
    const Bytes bytes = to_bytes(beginning->second);
    CHECK(codec->recognises(bytes) == !bytes.empty());
    if (!encoding.magic.empty()) CHECK(begins_as(encoding, bytes));
    if (bytes.empty()) CHECK(encoding.magic.empty());
    CHECK(extension_of(bytes) == (bytes.empty() ? "" : encoding.extensions[0]));
    for (std::size_t at = 0; at < encoding.magic.size(); ++at) {
      if (encoding.magic[at] == '?') continue;
      Bytes other = bytes;
      other[at] ^= std::byte{0x40};
      CHECK_FALSE(begins_as(encoding, other));
      CHECK_FALSE(codec->recognises(other));
    }
    CHECK_FALSE(codec->recognises({}));
  }
  CHECK(extension_of(to_bytes("GIF89a")) == "gif");
  CHECK(extension_of(to_bytes(std::string("MM\0*", 4))) == "tif");
  CHECK(extension_of(to_bytes(std::string("RIFF\0\0\0\0WAVE", 12))) == "wav");
  CHECK(extension_of(to_bytes("hello")).empty());
}

TEST_CASE("an extension is one encoding's, and names the field of the first one") {
  std::map<std::string_view, const Encoding*> seen;
  for (const Encoding& encoding : encodings()) {
    for (const std::string_view extension : encoding.extensions) {
      if (extension.empty()) continue;
      CAPTURE(extension);
      const auto [known, is_new] = seen.emplace(extension, &encoding);
      if (!is_new) CHECK((encoding.codec.empty() && known->second->codec.empty()));  // one more magic
      const FieldSchema schema = field_from_extension(extension);
      CHECK(schema.codec == encoding.codec);
      CHECK(schema.name == (encoding.codec.empty() ? extension : encoding.extensions[0]));
    }
  }
  CHECK(encoding_with_extension("") == nullptr);
  CHECK(encoding_with_extension("tar") == nullptr);
}

TEST_CASE("label() fits no field of images or of points") {
  for (const Encoding& encoding : encodings()) {
    if (encoding.codec.empty()) continue;
    CAPTURE(encoding.codec);
    const std::string told = refusal_of_label(std::string(encoding.codec));
    const bool image = encoding.kind == ValueKind::image, cloud = encoding.kind == ValueKind::cloud;
    CHECK(contains(told, "label() cannot read field \"x\", which holds images") == image);
    CHECK(contains(told, "label() cannot read field \"x\", which holds point clouds") == cloud);
  }
}

}  // namespace penstock::test::encodings_test
