#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include <transforms/clouds/codecs/off.hpp>

#include "support/cloud_values.hpp"
#include "support/test_data.hpp"

namespace penstock::test::off_test {
namespace {

const std::string kSquare =
    "OFF\n4 2 0\n0 0 0\n2 0 0\n2 2 0\n0 2 0\n3 0 1 2\n3 0 2 3\n";  // of edge 2, in the plane z = 0

std::vector<float> surface(const std::string& bytes, std::size_t k, std::uint64_t seed = 0) {
  const FieldSchema schema{.name = "off", .codec = "off"};
  std::vector<float> xyz(3 * k);
  Random random(seed, 0, 0, 0);
  off_decoder()->surface({.schema = &schema, .bytes = as_value(bytes)}, k, random, xyz.data());
  return xyz;
}

}  // namespace

TEST_CASE("headers are written in many ways") {
  const std::string vertices = "1 2 3\n4 5 6\n";
  for (const char* header : {"OFF\n2 0 0\n", "OFF 2 0 0\n", "OFF2 0 0\n", "OFF\n# a\n\n2 0\n", " \tOFF2 0 0 # b\n",
                             "OFF # c\n 2 0 0\n", "COFF\n2 0 0\n", "OFF\r\n2 0 0\r\n", "NOFF 2 0 0\n"}) {
    CAPTURE(header);
    std::string lines = "1 2 3 9 8 7 # d\n\n# e\n4 5 6 9 8 7";
    CHECK(decode_cloud(off_codec(), header + lines).xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(off_codec().recognises(as_value(header + lines)));
  }
  for (const char* other : {"OFFICE", "off 1 2 3", "coffee", "XOFF 1 1", "1 2 3", ""})
    CHECK_FALSE(off_codec().recognises(as_value(other)));
}

TEST_CASE("normals and colours are attributes") {
  const DecodedCloud coloured = decode_cloud(off_codec(), "COFF\n2 0 0\n1 2 3 255 0 7\n4 5 6 1 2 3\n");
  CHECK(coloured.values<std::uint8_t>("red") == std::vector<std::uint8_t>{255, 1});
  CHECK(coloured.values<std::uint8_t>("blue") == std::vector<std::uint8_t>{7, 3});
  CHECK(coloured.header.attributes.size() == 3);
  const DecodedCloud both = decode_cloud(off_codec(), "CNOFF\n1 0 0\n1 2 3  0 0 1  0.5 0.25 1 1\n");
  CHECK(both.values<float>("nz") == std::vector<float>{1});
  CHECK(both.values<float>("green") == std::vector<float>{0.25F});
  CHECK(both.values<float>("alpha") == std::vector<float>{1});
  CHECK(both.header.attributes.size() == 7);
}

TEST_CASE("points of a surface lie on it, evenly, whatever the triangles") {
  // A square of area 4 in two triangles of unequal size and one without area, and a pentagon of area 1 far above it.
  const std::string mesh =
      "OFF\n11 4 0\n0 0 0\n2 0 0\n2 2 0\n0 2 0\n0 1 0\n"
      "0 0 9\n1 0 9\n1 0.5 9\n1 1 9\n0 1 9\n5 5 5\n"
      "5 0 1 2 3 4\n3 10 10 10\n2 0 1\n5 5 6 7 8 9\n";
  constexpr std::size_t kPoints = 50000;
  const std::vector<float> xyz = surface(mesh, kPoints);
  std::size_t above = 0, left = 0, lower = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const float x = xyz[3 * i], y = xyz[3 * i + 1], z = xyz[3 * i + 2];
    const bool high = z > 4;
    CHECK_MESSAGE((z == (high ? 9.0F : 0.0F) && x >= 0 && y >= 0 && x <= (high ? 1 : 2) && y <= (high ? 1 : 2)), i);
    above += high;
    left += !high && x < 1;
    lower += !high && y < 0.5F;
  }
  const auto near = [](std::size_t count, double share) {  // within five standard deviations
    return std::abs(static_cast<double>(count) - kPoints * share) < 5 * std::sqrt(kPoints * share * (1 - share));
  };
  CHECK(near(above, 0.2));
  CHECK(near(left, 0.4));
  CHECK(near(lower, 0.2));
  CHECK(surface(mesh, 100) == surface(mesh, 100));
  CHECK(surface(mesh, 100) != surface(mesh, 100, 1));
  CHECK(surface(mesh, 0).empty());
}

TEST_CASE("one message says what is wrong, and where") {
  const auto fault = [](const std::string& bytes) { return fault_of(off_codec(), bytes); };
  CHECK(fault("OFF\n2 0 0\n1 2 3\n4 5\n    ") == "off: line 4: fewer numbers than a vertex has");
  CHECK(fault("OFF\n2 0 0\n1 2 3\n           ") == "off: ends before its last vertex");
  CHECK(fault("OFF\n4000000000 0 0\n1 2 3\n").find("do not fit") != std::string::npos);
  CHECK(fault("OFF\n1 2x 0\n1 2 3\n") == "off: line 2: '2x' is not a count");
  CHECK(fault("OFF\n1 0 0\n1 2 1e999\n") == "off: line 3: '1e999' is beyond the range of its type");
  CHECK(fault("OFF BINARY\n1 0 0\n") == "off: binary files");
  CHECK(fault("4OFF\n1 0 0\n1 2 3 4\n") == "off: files of kind '4OFF'");
  CHECK(fault("mesh\n") == "off: line 1: does not begin with OFF");
  CHECK(fault("OFF\n0 0 0\n").empty());
  const auto mesh_fault = [](const std::string& bytes) -> std::string {
    try {
      surface(bytes, 3);
    } catch (const Error& error) {
      CHECK(error.is_data_fault());
      return error.cause();
    }
    return "";
  };
  CHECK(mesh_fault(kSquare).empty());
  CHECK(mesh_fault("OFF\n4 2\n0 0 0\n2 0 0\n2 2 0\n0 2 0\n3 0\n1\n2 0.5 0.5 0.5\n3\n0 2 3").empty());
  CHECK(mesh_fault("OFF\n1 1 0\n1 2 3\n3 0 0 1\n") == "off: line 4: vertex 1 does not exist");
  CHECK(mesh_fault("OFF\n1 1 0\n1 2 3\n3 0 0\n") == "off: ends before its last face");
  CHECK(mesh_fault("OFF\n1 1 0\n1 2 3\n4000000000 0 0\n") == "off: ends before its last face");
  CHECK(mesh_fault("OFF\n1 1 0\n1 2 3\n3 0 0 0\n") == "the surface has no area");
  CHECK(mesh_fault("OFF\n1 1 0\n1 2 3\n   \n") == "off: ends before its last face");
  for (std::size_t length = 0; length < kSquare.size(); ++length) mesh_fault(kSquare.substr(0, length));
}

TEST_CASE("broken files end in values or a fault") {
  survive(off_codec(), kSquare, "OFF\n5 5 0\n");
  survive(off_codec(), "CNOFF 1 0 0\n1 2 3  0 0 1  0.5 0.25 1 1\n", "OFF3 3 ");
}

TEST_CASE("real files are read, and their surfaces have an area") {
  for (const auto& path : ::test::data_files("pointcloud/off")) {
    CAPTURE(path.string());
    const auto read = ::test::read_file(path);
    const std::string bytes(reinterpret_cast<const char*>(read.data()), read.size());
    CHECK(off_codec().recognises(read));
    CHECK(fault_of(off_codec(), bytes) == "");
    const std::vector<float> xyz = surface(bytes, 64);
    for (const float value : xyz) CHECK(std::isfinite(value));
  }
}

}  // namespace penstock::test::off_test
