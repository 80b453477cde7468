#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/formats/crc32c.hpp>

#include "support/temporary_folder.hpp"

using penstock::crc32c;
using penstock::crc32c_portable;
using penstock::test::bytes_of;

TEST_CASE("crc32c gives the values of RFC 3720, B.4") {
  CHECK(crc32c(bytes_of(std::string(32, '\0'))) == 0x8A9136AA);
  CHECK(crc32c(bytes_of(std::string(32, '\xFF'))) == 0x62A8AB43);
  CHECK(crc32c(bytes_of("123456789")) == 0xE3069283);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("the table and the instruction agree at every length and split") {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(300);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto whole = std::span(bytes).first(length);
    const std::uint32_t expected = crc32c(whole);
    REQUIRE(crc32c_portable(whole) == expected);
    const std::size_t split = length / 3;
    REQUIRE(crc32c(whole.subspan(split), crc32c(whole.first(split))) == expected);
    REQUIRE(crc32c_portable(whole.subspan(split), crc32c_portable(whole.first(split))) == expected);
  }
}
