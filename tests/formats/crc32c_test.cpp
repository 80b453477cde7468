#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/io/crc32c.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::crc32c_test {
namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// As the polynomial defines it, a bit at a time.
std::uint32_t by_bits(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0U;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
  }
  return ~crc;
}

}  // namespace

TEST_CASE("every way to compute a checksum agrees with its definition, at every length and place") {
  const std::vector<std::byte> bytes = random_bytes(7000);
  for (std::size_t length = 0; length < 6000; length += length < 1300 ? 1 : 61) {
    for (const std::size_t begin : {0U, 1U, 40U, 64U}) {
      const auto part = std::span(bytes).subspan(begin, length);
      const std::uint32_t expected = by_bits(part);
      REQUIRE(crc32c(part) == expected);
      REQUIRE(crc32c_by_instruction(part) == expected);
      REQUIRE(crc32c_portable(part) == expected);
      REQUIRE(crc32c(part.subspan(length / 5), crc32c(part.first(length / 5))) == expected);
    }
  }
}

TEST_CASE("a copy with its checksum is a copy, wherever it begins, and touches nothing else") {
  const std::vector<std::byte> bytes = random_bytes(70'000);
  for (const std::size_t length : {0U, 1U, 63U, 64U, 1023U, 1024U, 1025U, 1500U, 4096U, 16'385U, 69'000U}) {
    for (const std::size_t begin : {0U, 1U, 17U, 63U}) {
      std::vector<std::byte> copy(70'000, std::byte{0xAA});
      const auto part = std::span(bytes).subspan(begin, length);
      const std::size_t to = 100 + 3 * begin;
      REQUIRE(copy_with_crc32c(copy.data() + to, part) == crc32c(part));
      REQUIRE(std::ranges::equal(std::span(copy).subspan(to, length), part));
      REQUIRE(copy[to - 1] == std::byte{0xAA});
      REQUIRE(copy[to + length] == std::byte{0xAA});
    }
  }
}

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

}  // namespace penstock::test::crc32c_test
