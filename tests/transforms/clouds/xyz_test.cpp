#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include <penstock/schema.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/xyz.hpp>

#include "support/cloud_values.hpp"
#include "support/test_data.hpp"

namespace penstock::test::xyz_test {

TEST_CASE("numbers may be parted in several ways") {
  for (const char* text :
       {"1 2 3 4\n5 6 7 8\n", "1,2,3,4\r\n5,6,7,8", "1;2;3;4\r5;6;7;8\r", "\t1\t2\t3\t4\n\n 5, 6, 7, 8 \n"}) {
    CAPTURE(text);
    const DecodedCloud cloud = decode_cloud(xyz_codec(), text);
    CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 5, 6, 7});
    CHECK(cloud.header.attributes == std::vector<PointAttribute>{{"column_4", DType::f64}});
    CHECK(cloud.values<double>("column_4") == std::vector<double>{4, 8});
    check_choice(xyz_codec(), text, {1}, false);
  }
  CHECK(decode_cloud(xyz_codec(), "").header.points == 0);
  CHECK(decode_cloud(xyz_codec(), "# nothing\n").header.points == 0);
}

TEST_CASE("columns have names where a line tells them") {
  const std::vector<PointAttribute> named{{"Intensity", DType::f64}};
  for (const char* first :
       {"X,Y,Z,Intensity\n", "//X Y Z Intensity\n", "# x y z Intensity\n", "// first\n// X;Y;Z;Intensity\n"}) {
    CAPTURE(first);
    const DecodedCloud cloud = decode_cloud(xyz_codec(), std::string(first) + "1 2 3 4\n# between\n5 6 7 8\n");
    CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 5, 6, 7});
    CHECK(cloud.header.attributes == named);
  }
  const DecodedCloud moved = decode_cloud(xyz_codec(), "t z y x\n1 2 3 4\n");
  CHECK(moved.xyz == std::vector<float>{4, 3, 2});
  CHECK(moved.values<double>("t") == std::vector<double>{1});
  const DecodedCloud others = decode_cloud(xyz_codec(), "# made by hand, in May\n1 2 3 4\n");
  CHECK(others.header.attributes == std::vector<PointAttribute>{{"column_4", DType::f64}});
  const DecodedCloud partly = decode_cloud(xyz_codec(), "east north up q\n1 2 3 4\n");
  CHECK(partly.xyz == std::vector<float>{1, 2, 3});
  CHECK(partly.header.attributes[0].name == "q");
}

TEST_CASE("tables have names in quotes, cells without a value, and columns of words that nobody asks for") {
  const std::vector<PointAttribute> named{{"Point Source", DType::f64}, {"q", DType::f64}};
  for (const char* first : {"x,y,z,Point Source,q\n", "\"x\",\"y\", \"z\" ,\"Point Source\",\"q\"\r\n",
                            "\xEF\xBB\xBFX; Y; Z; Point Source; q\n", "x,y,z,Point Source,q,\n"}) {
    CAPTURE(first);
    const std::string text =
        std::string(first) + "1,2,3,4,5\n6 , 7,8 ,,9\n# between\n\n\"10\",11;12,13,\n14,15,16,17,18,\n";
    const DecodedCloud cloud = decode_cloud(xyz_codec(), text);
    CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 6, 7, 8, 10, 11, 12, 14, 15, 16});
    CHECK(cloud.header.attributes == named);
    const std::vector<double> sources = cloud.values<double>("Point Source"), q = cloud.values<double>("q");
    CHECK(sources[0] == 4);
    CHECK(std::isnan(sources[1]));
    CHECK(sources[3] == 17);
    CHECK(q[1] == 9);
    CHECK(std::isnan(q[2]));
  }
  const std::string words = "species,x,y,z\nNorway spruce,1,2,3\n\"oak, old\",4,5,6\n";
  const auto decoder = xyz_codec().cloud_decoder({});
  const FieldBytes field{.schema = nullptr, .bytes = as_value(words)};
  CHECK(decoder->open(field).points == 2);
  std::vector<float> xyz(6);
  decoder->coordinates(field, {}, xyz.data());
  CHECK(xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(fault_of(xyz_codec(), words) == "xyz: line 2: 'Norway spruce' is not a number");
  const DecodedCloud nameless = decode_cloud(xyz_codec(), "x,y,z,,b\n1,2,3,4,5\n");
  CHECK(nameless.header.attributes[0].name == "column_4");
  const DecodedCloud behind = decode_cloud(xyz_codec(), "a,x,y,z\n,2,3,4\n1,2,3,\n");
  CHECK(std::isnan(behind.values<double>("a")[0]));
  CHECK(std::isnan(behind.xyz[5]));
  CHECK(decode_cloud(xyz_codec(), "x,y,z\n").header.points == 0);
  check_choice(xyz_codec(), "x,y,z,t\n1,2,3,4\n5,6,7,8\n", {1}, false);
}

TEST_CASE("numbers parted by blanks and commas alike are no table") {
  const DecodedCloud cloud = decode_cloud(xyz_codec(), "1 2 3, 255 128 0\n4 5 6,0 1 2\n");
  CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(cloud.values<double>("column_5") == std::vector<double>{128, 1});
}

TEST_CASE("a table whose names and numbers do not match is refused with both counts") {
  CHECK(fault_of(xyz_codec(), "x;y;z\n1,5;2,5;3,5\n") == "xyz: line 2: 6 numbers, but 3 names of columns");
  CHECK(fault_of(xyz_codec(), "x,y,z,t\n1,2,3\n") == "xyz: line 2: 3 numbers, but 4 names of columns");
  CHECK(fault_of(xyz_codec(), "x,y,z\n1,2,3\n1,2\n") == "xyz: line 3: fewer numbers than the first point has");
  CHECK(fault_of(xyz_codec(), "x,y,z\n1,2,3\n1,2,3,4\n") == "xyz: line 3: more numbers than the first point has");
  CHECK(fault_of(xyz_codec(), "x,y,z\n1,two,3\n") == "xyz: line 2: 'two' is not a number");
}

TEST_CASE("fewer points than the first line says are an error") {
  CHECK(decode_cloud(xyz_codec(), "2\n1 2 3\n4 5 6\n").header.points == 2);
  CHECK(fault_of(xyz_codec(), "3\n1 2 3\n4 5 6\n") == "xyz: the first line states 3 points, but there are only 2");
  CHECK(decode_cloud(xyz_codec(), "1\n1 2 3\n4 5 6\n").header.points == 2);
  CHECK(fault_of(xyz_codec(), "4000000000000\n1 2 3\n").find("there are only 1") != std::string::npos);
}

TEST_CASE("far coordinates keep their digits by an origin") {
  const DecodedCloud cloud = decode_cloud(xyz_codec(), "2\n636110.3125 849345.5 512.25\n636102.25 849340 0.5\n");
  CHECK(cloud.header.origin == std::array<double, 3>{636110, 849345, 512});
  CHECK(cloud.xyz == std::vector<float>{0.3125F, 0.5F, 0.25F, -7.75F, -5, -511.5F});
}

TEST_CASE("one message says what is wrong, and where") {
  const auto fault = [](const std::string& text) { return fault_of(xyz_codec(), text); };
  CHECK(fault("1 2 3\n4 5\n") == "xyz: line 2: fewer numbers than the first point has");
  CHECK(fault("1 2 3\n\n4 5 6 7\n") == "xyz: line 3: more numbers than the first point has");
  CHECK(fault("1 2 3\n4 five 6\n") == "xyz: line 2: 'five' is not a number");
  CHECK(fault("1 2 3\n4 1e400 6\n") == "xyz: line 2: '1e400' is beyond the range of its type");
  CHECK(fault("1 2\n") == "xyz: line 1: a point has fewer than three numbers");
  CHECK(fault("1.5\n1 2 3\n") == "xyz: line 1: '1.5' is not a count");
  CHECK(fault("1 2 3\n4 5 -1e-400\n").empty());
}

TEST_CASE("a first point with a word in it is not taken for names of columns") {
  const auto fault = [](const std::string& text) { return fault_of(xyz_codec(), text); };
  CHECK(fault("N/A 2 3\n4 5 6\n") == "xyz: line 1: 'N/A' is not a number");
  CHECK(fault("-1.#IND 2 3\n4 5 6\n") == "xyz: line 1: '-1.#IND' is not a number");
  CHECK(fault("-1.#IND 1.#QNAN .x\n4 5 6\n") == "xyz: line 1: '-1.#IND' is not a number");
  CHECK(fault("null null null 7\n4 5 6 7\n") == "xyz: line 1: 'null' is not a number");
  CHECK(fault("- - -\n4 5 6\n") == "xyz: line 1: '-' is not a number");
  CHECK(fault("N/A N/A N/A\n4 5 6\n") == "xyz: line 1: 'N/A' is not a number");
  CHECK(fault("N/A;2;\"3\"\n4;5;6\n") == "xyz: line 1: 'N/A' is not a number");
  CHECK(fault("?,?,\n4,5,6\n") == "xyz: line 2: 3 numbers, but 2 names of columns");
  CHECK(fault("# x y z t\nN/A 2 3 4\n5 6 7 8\n") == "xyz: line 2: 'N/A' is not a number");
  CHECK(decode_cloud(xyz_codec(), "nan 2 3\n4 5 6\n").header.points == 2);
  for (const char* text : {"x y z 2020 2021\n1 2 3 4 5\n", "2020,z,y,x,2021\n1,4,3,2,5\n", "east;north;up\n1;2;3\n",
                           "east,north,up,band 1\n1,2,3,4\n", "points\n1 2 3\n", "two words\n1 2 3\n"}) {
    CAPTURE(text);
    CHECK(decode_cloud(xyz_codec(), text).header.points == 1);
  }
}

TEST_CASE("broken files end in values or a fault") {
  survive(xyz_codec(), "3\n# x y z t\n1.5 -2e3 3 4\n+5 6 nan 8\n9;10,11\t12\n", "");
  survive(xyz_codec(), "\"x\",y;z,\"t, s\"\n1.5,-2e3,,4\n\"+5\",6;nan,\n", "");
}

TEST_CASE("real files are read, and extensions tell them") {
  for (const char* extension : {"xyz", "pts", "asc", "PTS", "csv"})
    CHECK(field_from_extension(extension).codec == "xyz");
  CHECK(field_from_extension("txt").codec == "txt");
  for (const auto& path : ::test::data_files("pointcloud/text")) {
    CAPTURE(path.string());
    const auto read = ::test::read_file(path);
    const std::string bytes(reinterpret_cast<const char*>(read.data()), read.size());
    const DecodedCloud cloud = decode_cloud(xyz_codec(), bytes);
    CHECK(cloud.header.points >= static_cast<std::uint64_t>(std::stoul(bytes)));
  }
}

}  // namespace penstock::test::xyz_test
