#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <doctest/doctest.h>

#include <pack/option_table.hpp>
#include <penstock/error.hpp>

namespace penstock::test::option_table_test {

using Text = PackOption::Text;
using Words = PackOption::Words;

TEST_CASE("each API has an option of packing once, with a meaning in sentences") {
  for (const PackApi api : {kOfPack, kOfWriter, kOfClusters, kOfCommand}) {
    std::set<std::string_view> names;
    for (const PackOption* option : pack_options_of(api)) {
      CAPTURE(option->name);
      CHECK(names.insert(option->name).second);
      CHECK(meaning_of(*option).ends_with("."));
      CHECK(meaning_of(*option).find('{') == meaning_of(*option).find("{\""));  // no placeholder is left
    }
  }
}

TEST_CASE("an option of packing takes each of its words and gives it back, and refuses others") {
  for (const PackOption& option : pack_options()) {
    const auto* words = std::get_if<Words>(&option.member);
    if (words == nullptr) continue;
    CAPTURE(option.name);
    for (const std::string_view word : words->known()) {
      ConvertOptions options;
      CHECK(words->set(options, word));
      CHECK(words->get(options) == word);
    }
    ConvertOptions options;
    CHECK_FALSE(words->set(options, "zoo"));
    CHECK_FALSE(words->set(options, ""));
  }
}

TEST_CASE("texts of options of packing are those that packing parses, whatever their order") {
  const std::pair<std::string_view, std::string_view> texts[] = {{"point_attributes", "classification,intensity"},
                                                                 {"decode", "jpg=224x320"},
                                                                 {"presample", "voxel:0.5,fps:64"},
                                                                 {"jpeg", "quality:70"}};
  ConvertOptions options;
  options.recoding.jpeg.max_side = 400;
  for (const auto& [name, text] : texts) {
    const auto option = std::ranges::find(pack_options(), name, &PackOption::name);
    std::get<Text>(option->member).set(options, text);
  }
  for (const auto& [name, text] : texts) {
    CAPTURE(name);
    const auto option = std::ranges::find(pack_options(), name, &PackOption::name);
    CHECK(std::get<Text>(option->member).get(options) == text);
    if (name != "point_attributes") CHECK_THROWS_AS(std::get<Text>(option->member).set(options, ",=zoo:"), Error);
  }
  CHECK(options.recoding.jpeg.max_side == 400);
}

}  // namespace penstock::test::option_table_test
