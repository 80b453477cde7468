#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <bench/measure/digest.hpp>

namespace penstock::test::digest_test {
namespace {

std::uint64_t hash_of(std::string_view text, std::size_t step) {
  penstock::Hash64 hash;
  for (; text.size() > step; text.remove_prefix(step)) hash.add(std::as_bytes(std::span(text.substr(0, step))));
  hash.add(std::as_bytes(std::span(text)));
  return hash.value();
}

}  // namespace

TEST_CASE("the hash is XXH64") {
  CHECK(penstock::Hash64().value() == 0xEF46DB3751D8E999);
  CHECK(hash_of("a", 100) == 0xD24EC4F1A98C6E5B);
  CHECK(hash_of("abc", 100) == 0x44BC2CF5AD770999);
}

TEST_CASE("the hash does not depend on how the bytes are cut") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7 % 251);
  const std::uint64_t whole = hash_of(text, text.size());
  for (const std::size_t step : {1U, 3U, 8U, 31U, 32U, 33U, 100U}) CHECK(hash_of(text, step) == whole);
  text[500] ^= 1;
  CHECK(hash_of(text, text.size()) != whole);
}

}  // namespace penstock::test::digest_test
