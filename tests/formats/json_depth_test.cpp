#include <string>

#include <doctest/doctest.h>

#include <formats/packed/manifest.hpp>
#include <formats/text/json_depth.hpp>
#include <penstock/error.hpp>

namespace penstock::test::json_depth_test {

TEST_CASE("JSON of 64 levels passes, of one more it is corrupt, whatever is behind the brackets") {
  CHECK_NOTHROW(require_shallow_json(std::string(64, '[')));
  CHECK_THROWS_AS(require_shallow_json(std::string(65, '[')), Error);
  CHECK_THROWS_AS(require_shallow_json(std::string(40, '[') + std::string(25, '{')), Error);
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "[{}],";
  CHECK_NOTHROW(require_shallow_json(wide));
}

TEST_CASE("brackets in strings do not count, and a string ends where JSON says") {
  CHECK_NOTHROW(require_shallow_json("\"" + std::string(1000, '[') + "\""));
  CHECK_NOTHROW(require_shallow_json(R"("\")" + std::string(1000, '[') + "\""));
  CHECK_THROWS_AS(require_shallow_json(R"("\\")" + std::string(65, '[')), Error);
}

TEST_CASE("a dataset description of a million brackets is corrupt") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const std::string text =
      Manifest{.format = "tar", .fields = {}, .classes = {}, .shards = {}, .made_with = "{}"}.to_json();
  const std::size_t place = text.find("\"made_with\": {}");
  REQUIRE(place != std::string::npos);
  CHECK_THROWS_AS(Manifest::from_json(text.substr(0, place) + "\"made_with\": " + deep + "}"), Error);
}

}  // namespace penstock::test::json_depth_test
