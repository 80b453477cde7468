#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/formats/crc32c.hpp>

#include "support/temporary_folder.hpp"

using penstock::crc32c;
using penstock::crc32c_joined;
using penstock::crc32c_portable;
using penstock::test::bytes_of;

namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace

TEST_CASE("crc32c gives the values of RFC 3720, B.4") {
  CHECK(crc32c(bytes_of(std::string(32, '\0'))) == 0x8A9136AA);
  CHECK(crc32c(bytes_of(std::string(32, '\xFF'))) == 0x62A8AB43);
  CHECK(crc32c(bytes_of("123456789")) == 0xE3069283);
  CHECK(crc32c({}) == 0);
}

TEST_CASE("the table and the instruction agree at every length and split") {
  const std::vector<std::byte> bytes = random_bytes(300);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto whole = std::span(bytes).first(length);
    const std::uint32_t expected = crc32c(whole);
    REQUIRE(crc32c_portable(whole) == expected);
    const std::size_t split = length / 3;
    REQUIRE(crc32c(whole.subspan(split), crc32c(whole.first(split))) == expected);
    REQUIRE(crc32c_portable(whole.subspan(split), crc32c_portable(whole.first(split))) == expected);
  }
}

TEST_CASE("the table and the instruction agree where runs of bytes are summed up side by side") {
  const std::vector<std::byte> bytes = random_bytes(3 * 8192 * 2 + 3 * 512 * 5 + 77);
  for (const std::size_t edge : {3U * 512, 3U * 1024, 3U * 8192, 2U * 3 * 8192}) {
    for (std::size_t length = edge - 9; length <= edge + 9; ++length) {
      REQUIRE(crc32c(std::span(bytes).first(length)) == crc32c_portable(std::span(bytes).first(length)));
      const auto shifted = std::span(bytes).subspan(3, length - 3);
      REQUIRE(crc32c(shifted, 0x12345678) == crc32c_portable(shifted, 0x12345678));
    }
  }
  CHECK(crc32c(bytes) == crc32c_portable(bytes));
}

TEST_CASE("the checksum of joined runs comes from those of each") {
  const std::vector<std::byte> bytes = random_bytes(5000);
  for (const std::size_t split : {0U, 1U, 2U, 7U, 8U, 255U, 256U, 1000U, 4095U, 4096U, 4999U, 5000U}) {
    const auto first = std::span(bytes).first(split), second = std::span(bytes).subspan(split);
    CHECK(crc32c_joined(crc32c(first), crc32c(second), second.size()) == crc32c(bytes));
  }
  // Of more zeros than anyone would sum up: 2^k of them, twice, is 2^(k+1).
  std::uint32_t zeros = crc32c(std::vector<std::byte>(1024));
  for (std::uint64_t length = 1024; length < std::uint64_t{1} << 44; length *= 2) {
    if (length == std::uint64_t{1} << 20) CHECK(zeros == crc32c(std::vector<std::byte>(length)));
    zeros = crc32c_joined(zeros, zeros, length);
  }
  CHECK(crc32c_joined(crc32c({}), zeros, std::uint64_t{1} << 44) == zeros);
}
