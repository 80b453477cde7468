#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/filters/bitshuffle.hpp>
#include <formats/filters/filters.hpp>
#include <formats/filters/lz4.hpp>
#include <penstock/error.hpp>

namespace penstock::test::bitshuffle_test {

using Bytes = std::vector<std::byte>;

namespace {

constexpr unsigned kSeed = 20240611;

Bytes noise(std::size_t length) {
  std::mt19937 random(kSeed);
  Bytes bytes(length);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Bit by bit, straight from the definition: bit b of element i is bit b of a row of bits.
Bytes transposed(const Bytes& plain, std::size_t element, std::size_t block) {
  Bytes stored;
  for (std::size_t first = 0, elements = plain.size() / element; first < elements;) {
    std::size_t count = std::min(block, elements - first);
    count -= count % 8;
    const std::byte* from = plain.data() + first * element;
    if (count == 0) {
      stored.insert(stored.end(), from, plain.data() + plain.size());
      break;
    }
    Bytes rows(count * element);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t bit = 0; bit < element * 8; ++bit) {
        const bool set = (from[i * element + bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
        if (set) rows[bit * (count / 8) + i / 8] |= std::byte{1} << (i % 8);
      }
    }
    stored.insert(stored.end(), rows.begin(), rows.end());
    first += count;
  }
  return stored;
}

Bytes big(std::uint64_t value, std::size_t bytes) {
  Bytes made;
  while (bytes-- > 0) made.push_back(static_cast<std::byte>(value >> (8 * bytes)));
  return made;
}

// A block of literals only. Source: "LZ4 Block Format Description".
Bytes lz4(const Bytes& plain) {
  Bytes stored{static_cast<std::byte>(plain.size() < 15 ? plain.size() << 4 : 0xF0)};
  if (plain.size() >= 15) {
    std::size_t left = plain.size() - 15;
    for (; left >= 255; left -= 255) stored.push_back(std::byte{255});
    stored.push_back(static_cast<std::byte>(left));
  }
  stored.insert(stored.end(), plain.begin(), plain.end());
  return stored;
}

// The frame of filter 32008 with LZ4.
Bytes compressed(const Bytes& plain, std::size_t element, std::size_t block) {
  Bytes stored = big(plain.size(), 8);
  const auto append = [&stored](const Bytes& more) { stored.insert(stored.end(), more.begin(), more.end()); };
  append(big(block * element, 4));
  const Bytes rows = transposed(plain, element, block);
  const std::size_t copied = plain.size() / element % 8 * element;
  for (std::size_t at = 0; at < rows.size() - copied;) {
    const std::size_t length = std::min(block * element, rows.size() - copied - at);
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(at);
    const Bytes part = lz4({begin, begin + static_cast<std::ptrdiff_t>(length)});
    append(big(part.size(), 4));
    append(part);
    at += length;
  }
  append({rows.end() - static_cast<std::ptrdiff_t>(copied), rows.end()});
  return stored;
}

Block block_of(std::size_t decoded_length, std::vector<Filter> filters) {
  return {.extent = {}, .filters = std::move(filters), .decoded_length = decoded_length};
}

std::vector<Filter> plain_filter(std::uint32_t element, std::uint32_t block) {
  return {{Filter::Id::bitshuffle, element}, {Filter::Id::operand, block}};
}

Bytes undone(const Block& block, const Bytes& stored) {
  Bytes decoded, scratch;
  penstock::undo_filters(block, stored, decoded, scratch);
  return decoded;
}

std::string failure(const Block& block, const Bytes& stored) {
  try {
    undone(block, stored);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    return error.cause();
  }
  return "no error";
}

}  // namespace

TEST_CASE("bits are put back, for any number of elements of any size") {
  for (const std::uint32_t element : {1U, 2U, 3U, 4U, 8U, 12U}) {
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 64U, 71U, 1003U}) {
      CAPTURE(element);
      CAPTURE(count);
      const Bytes plain = noise(count * element);
      for (const std::uint32_t block : {8U, 64U, 2048U})
        CHECK(undone(block_of(plain.size(), plain_filter(element, block)), transposed(plain, element, block)) == plain);
    }
  }
}

TEST_CASE("the blocks that the filter chooses have about 8 KiB") {
  CHECK(penstock::bitshuffle_default_block(1) == 8192);
  CHECK(penstock::bitshuffle_default_block(8) == 1024);
  CHECK(penstock::bitshuffle_default_block(12) == 680);
  CHECK(penstock::bitshuffle_default_block(1000) == 128);
}

TEST_CASE("elements in part, blocks of other numbers and missing parameters are corrupt") {
  CHECK(failure(block_of(63, plain_filter(4, 8)), noise(63)) == "bitshuffle block is broken");
  CHECK(failure(block_of(64, plain_filter(0, 8)), noise(64)) == "bitshuffle block is broken");
  CHECK(failure(block_of(64, plain_filter(4, 0)), noise(64)) == "bitshuffle block is broken");
  CHECK(failure(block_of(64, plain_filter(4, 12)), noise(64)) == "bitshuffle block is broken");
  CHECK(failure(block_of(64, {{Filter::Id::bitshuffle, 4}}), noise(64)) == "a filter without its operand");
  CHECK(failure(block_of(64, plain_filter(4, 8)), noise(60)) == "block of 60 bytes, but 64 are expected");
}

TEST_CASE("compressed blocks are read, and cut or changed ones give an error or bytes") {
  const std::uint32_t element = 4;
  const Bytes plain = noise(1003 * element);
  const Bytes stored = compressed(plain, element, 64);
  const Block block = block_of(plain.size(), {{Filter::Id::bitshuffle_lz4, element}});
  if (!penstock::lz4_is_linked()) {
    CHECK_THROWS_AS(undone(block, stored), Error);
    return;
  }
  REQUIRE(undone(block, stored) == plain);
  for (std::size_t length = 0; length < stored.size(); length += 7) {
    CAPTURE(length);
    CHECK(failure(block, {stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length)}) != "no error");
  }
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    Bytes changed = stored;
    changed[random() % (round % 2 == 0 ? 16 : changed.size())] = static_cast<std::byte>(random());
    failure(block, changed);
  }
}

TEST_CASE("a length that the frame does not have is refused before memory is taken for it") {
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  Bytes decoded, scratch;
  const Bytes lying = compressed(noise(256), 4, 64);
  CHECK_THROWS_AS(penstock::undo_filters(block_of(kHuge, {{Filter::Id::bitshuffle_lz4, 4}}), lying, decoded, scratch),
                  Error);
  CHECK(decoded.capacity() == 0);
}

}  // namespace penstock::test::bitshuffle_test
