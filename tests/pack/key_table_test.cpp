#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <pack/key_table.hpp>

namespace penstock::test::key_table_test {

TEST_CASE("a key table knows exactly the keys that were inserted, as a set of strings does") {
  std::mt19937 random(7);
  std::vector<std::string> keys;
  std::set<std::string> known;
  KeyTable table([&](std::uint32_t number) { return std::string_view(keys[number]); });
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = std::to_string(random() % 12'000);  // many come again
    REQUIRE(table.contains(key) == known.contains(key));
    if (!known.insert(key).second) continue;
    keys.push_back(key);
    table.insert(key, static_cast<std::uint32_t>(keys.size() - 1));
  }
  for (const std::string& key : keys) REQUIRE(table.contains(key));
}

}  // namespace penstock::test::key_table_test
