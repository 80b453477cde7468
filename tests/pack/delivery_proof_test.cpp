#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/mosaic.hpp>
#include <pack/delivery_proof.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

#include "support/encoded.hpp"

namespace penstock::test::delivery_proof_test {
namespace {

const FieldSchema kJpeg{.name = "jpg", .codec = "jpeg"}, kPng{.name = "jpg", .codec = "png"},
    kRaw{.name = "jpg", .codec = "raw", .shape = {4, 4, 3}, .fixed = true},
    kPoints{.name = "points", .codec = "points"};

std::string of_copy(const FieldSchema& ours, const Bytes& value) {
  return fault_of_copy({"key", ours, kJpeg, value, value});
}

std::string made_over(const Recoding& recoding, const FieldSchema& schema, const Bytes& ours, const Bytes& theirs) {
  return fault_of_recoding(recoding, {"key", schema, schema, ours, theirs});
}

Bytes cloud_of(const std::vector<float>& coordinates, const std::vector<std::uint8_t>& shade,
               const PointAttribute& attribute = {"shade", DType::u8}, double x = 0) {
  CloudHeader header{.points = shade.size(), .origin = {x, 0, 0}, .attributes = {attribute}};
  CloudColumns columns{.coordinates = coordinates, .attributes = {std::as_bytes(std::span(shade))}};
  Bytes made;
  encode_cloud(header, columns, made);
  return made;
}

}  // namespace

TEST_CASE("equal bytes must be readable wherever the source's are") {
  Bytes strange = jpeg(picture(4, 4, 3, 1));
  CHECK(of_copy(kPng, strange).empty());  // its first bytes tell
  strange.insert(strange.begin() + 2, 8000, std::byte{7});
  CHECK(of_copy(kJpeg, strange).empty());
  CHECK(of_copy({.name = "jpg", .codec = "jpt"}, strange).empty());
  CHECK(of_copy(kPng, strange).find("a loader can read the source's value, but not this one") == 0);
  CHECK_FALSE(of_copy(kRaw, strange).empty());
  const auto length = static_cast<std::int64_t>(strange.size());
  const FieldSchema numbers{.name = "jpg", .codec = "raw", .shape = {length}, .fixed = true};
  CHECK(of_copy(numbers, strange).find("a loader delivers other values for them") != std::string::npos);
  CHECK(of_copy(kPng, to_bytes("neither can be read")).empty());
}

TEST_CASE("photographs made over must be what was asked for") {
  const Bytes file = jpeg(picture(64, 48, 3, 1)), other = jpeg(picture(64, 48, 3, 2));
  const Bytes half = jpeg(picture(32, 24, 3, 1)), skew = jpeg(picture(32, 30, 3, 1)),
              gray = jpeg(picture(32, 24, 1, 1));
  const Recoding baseline{.jpeg = jpeg_recoding("baseline", 0)}, quality{.jpeg = jpeg_recoding("quality:50", 0)},
      small{.jpeg = jpeg_recoding("keep", 32)};
  CHECK(fault_of_file({"key", kJpeg, kJpeg, file, file}).empty());
  CHECK_FALSE(fault_of_file({"key", kJpeg, kJpeg, other, file}).empty());
  CHECK(made_over(baseline, kJpeg, file, file).empty());
  CHECK_FALSE(made_over(baseline, kJpeg, other, file).empty());
  CHECK(made_over(quality, kJpeg, other, file).empty());
  CHECK_FALSE(made_over(quality, kJpeg, half, file).empty());
  CHECK(made_over(small, kJpeg, half, file).empty());
  CHECK_FALSE(made_over(small, kJpeg, skew, file).empty());
  CHECK_FALSE(made_over(small, kJpeg, half, jpeg(picture(16, 12, 3, 1))).empty());  // enlarged
  CHECK_FALSE(made_over(small, kJpeg, gray, file).empty());
  CHECK_FALSE(made_over(small, kJpeg, Bytes(half.begin(), half.begin() + 200), file).empty());
  CHECK(made_over(baseline, kJpeg, {}, Bytes(file.begin(), file.begin() + 100)).empty());  // nothing to be compared
}

TEST_CASE("decoded images must have the size that was asked for") {
  const Bytes file = jpeg(picture(64, 48, 3, 1)), pixels(48);
  const auto fault = [&](std::int64_t height, std::int64_t width) {
    const Recoding recoding{.pixels = {.decodes = true, .fields = {"jpg"}, .height = height, .width = width}};
    return fault_of_recoding(recoding, {"key", kRaw, kJpeg, pixels, file});
  };
  CHECK(fault(4, 4).empty());
  CHECK_FALSE(fault(5, 4).empty());
  CHECK_FALSE(fault(4, 5).empty());
  const FieldSchema floats{.name = "jpg", .codec = "raw", .dtype = DType::f32, .shape = {4, 4, 3}, .fixed = true};
  const Recoding recoding{.pixels = {.decodes = true, .fields = {"jpg"}, .height = 4, .width = 4}};
  CHECK_FALSE(fault_of_recoding(recoding, {"key", floats, kJpeg, Bytes(192), file}).empty());
}

TEST_CASE("clouds made over hold points of the source, with their attributes") {
  const Bytes cloud = cloud_of({1, 2, 3, 4, 5, 6, 1, 2, 3}, {7, 8, 7});
  const Recoding ordered{.clouds = cloud_recoding("", "progressive", "all")},
      fewer{.clouds = cloud_recoding("random:2", "keep", "all")},
      cells{.clouds = cloud_recoding("voxel:9", "keep", "all")};
  const auto fault = [&](const Recoding& recoding, const std::vector<float>& coordinates,
                         const std::vector<std::uint8_t>& shade) {
    return made_over(recoding, kPoints, cloud_of(coordinates, shade), cloud);
  };
  CHECK(fault(ordered, {4, 5, 6, 1, 2, 3, 1, 2, 3}, {8, 7, 7}).empty());
  CHECK_FALSE(fault(ordered, {4, 5, 6, 1, 2, 3, 1, 2, 3}, {7, 8, 7}).empty());  // attributes of others
  CHECK_FALSE(fault(ordered, {4, 5, 6, 4, 5, 6, 1, 2, 3}, {8, 8, 7}).empty());  // one of them twice
  CHECK_FALSE(fault(ordered, {4, 5, 6, 1, 2, 3}, {8, 7}).empty());              // too few
  CHECK(fault(fewer, {1, 2, 3, 1, 2, 3}, {7, 7}).empty());
  CHECK_FALSE(fault(fewer, {4, 5, 6, 4, 5, 6}, {8, 8}).empty());
  CHECK_FALSE(fault(fewer, {4, 5, 6, 4, 5, 7}, {8, 8}).empty());
  CHECK(fault(cells, {2, 3, 4}, {7}).empty());
  CHECK_FALSE(fault(cells, {2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4}, {7, 7, 7, 7}).empty());
  CHECK_FALSE(made_over(ordered, kPoints, to_bytes("PSPOINTS"), cloud).empty());
}

TEST_CASE("attributes of clouds that the source lacks, or has as another type, are told") {
  const std::vector<float> places{1, 2, 3, 4, 5, 6};
  const Bytes cloud = cloud_of(places, {7, 8});
  const Recoding ordered{.clouds = cloud_recoding("", "progressive", "all")},
      cells{.clouds = cloud_recoding("voxel:9", "keep", "all")};
  for (const Recoding& recoding : {ordered, cells}) {
    const auto fault = [&](const Bytes& ours) { return made_over(recoding, kPoints, ours, cloud); };
    CHECK(fault(cloud).empty());
    CHECK(fault(cloud_of(places, {7, 8}, {"light", DType::u8})) ==
          "its points have the attribute \"light\", but those of the source lack it");
    CHECK(fault(cloud_of(places, {7, 8}, {"shade", DType::i8})) ==
          "the attribute \"shade\" of its points is int8, but in the source it is uint8");
    CHECK_FALSE(fault(cloud_of(places, {7, 8}, {"shade", DType::u8}, 5)).empty());  // relative to another place
  }
  CHECK(made_over(ordered, kPoints, cloud, to_bytes("PSPOINTS")).empty());  // no loader reads the source
}

TEST_CASE("attributes of clouds that packing keeps must be there") {
  const std::vector<float> places{1, 2, 3, 4, 5, 6};
  const Bytes cloud = cloud_of(places, {7, 8});
  Bytes bare;
  encode_cloud({.points = 2}, {.coordinates = places, .attributes = {}}, bare);
  const auto fault = [&](const std::string& attributes) {
    return made_over({.clouds = cloud_recoding("", "progressive", attributes)}, kPoints, bare, cloud);
  };
  CHECK(fault("none").empty());
  CHECK(fault("all") == "its points lack the attribute \"shade\", which packing keeps");
  CHECK(fault("shade") == fault("all"));
  CHECK(made_over({.clouds = cloud_recoding("", "progressive", "all")}, kPoints, bare, bare).empty());
}

TEST_CASE("equal bytes of one codec are compared by dtype and shape") {
  const Bytes numbers(48);
  const auto fault = [&](const FieldSchema& ours) { return fault_of_copy({"key", ours, kRaw, numbers, numbers}); };
  CHECK(fault(kRaw).empty());
  CHECK_FALSE(fault({.name = "jpg", .codec = "raw", .shape = {48}, .fixed = true}).empty());
  CHECK_FALSE(fault({.name = "jpg", .codec = "raw", .dtype = DType::i8, .shape = {4, 4, 3}, .fixed = true}).empty());
  CHECK_FALSE(fault({.name = "jpg", .codec = "raw", .dtype = DType::f32, .shape = {4, 4, 3}, .fixed = true}).empty());
}

}  // namespace penstock::test::delivery_proof_test
