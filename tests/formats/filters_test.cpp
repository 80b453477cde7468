#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include <penstock/formats/error.hpp>
#include <penstock/formats/filters.hpp>

using penstock::Block;
using penstock::Error;
using penstock::ErrorKind;
using penstock::Filter;
using Bytes = std::vector<std::byte>;

namespace {

constexpr unsigned kSeed = 20240611;

// A third of the range, so that deflate has something to do.
Bytes noise(std::size_t length, unsigned seed = kSeed) {
  std::mt19937 random(seed);
  Bytes bytes(length);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 85);
  return bytes;
}

Bytes deflated(const Bytes& plain) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  Bytes stored(libdeflate_zlib_compress_bound(compressor, plain.size()));
  stored.resize(libdeflate_zlib_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

Bytes shuffled(const Bytes& plain, std::size_t element) {
  const std::size_t count = plain.size() / element;
  Bytes stored(plain);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < element; ++b) stored[b * count + i] = plain[i * element + b];
  }
  return stored;
}

// Straight from the definition, with a division at every step.
Bytes with_fletcher32(Bytes plain) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < plain.size(); i += 2) {
    std::uint64_t word = std::to_integer<std::uint64_t>(plain[i]) << 8;
    if (i + 1 < plain.size()) word |= std::to_integer<std::uint64_t>(plain[i + 1]);
    first = (first + word) % 65535;
    second = (second + first) % 65535;
  }
  const auto sum = static_cast<std::uint32_t>(second << 16 | first);
  const auto* trailer = reinterpret_cast<const std::byte*>(&sum);
  plain.insert(plain.end(), trailer, trailer + 4);
  return plain;
}

Block block_of(std::size_t decoded_length, std::vector<Filter> filters) {
  return {.extent = {}, .filters = std::move(filters), .decoded_length = decoded_length};
}

Bytes undone(const Block& block, const Bytes& stored) {
  Bytes decoded(block.decoded_length);
  Bytes scratch;
  penstock::undo_filters(block, stored, decoded, scratch);
  return decoded;
}

ErrorKind kind_of_failure(const Block& block, const Bytes& stored) {
  try {
    undone(block, stored);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::io;
}

constexpr Filter kDeflate{Filter::Id::deflate, 0};
constexpr Filter kFletcher{Filter::Id::fletcher32, 0};

Filter shuffle(std::uint32_t element) {
  return {Filter::Id::shuffle, element};
}

}  // namespace

TEST_CASE("every usual pipeline is undone, at awkward lengths and element sizes") {
  for (const std::size_t length : {0U, 1U, 2U, 7U, 359U, 720U, 721U, 4096U, 100'003U}) {
    for (const std::uint32_t element : {1U, 2U, 3U, 4U, 8U, 12U, 200U}) {
      CAPTURE(length);
      CAPTURE(element);
      const Bytes plain = noise(length);
      const Bytes mixed = shuffled(plain, element);
      CHECK(undone(block_of(length, {}), plain) == plain);
      CHECK(undone(block_of(length, {shuffle(element)}), mixed) == plain);
      CHECK(undone(block_of(length, {kDeflate}), deflated(plain)) == plain);
      CHECK(undone(block_of(length, {shuffle(element), kDeflate}), deflated(mixed)) == plain);
      CHECK(undone(block_of(length, {shuffle(element), kDeflate, kFletcher}), with_fletcher32(deflated(mixed))) ==
            plain);
      CHECK(undone(block_of(length, {kFletcher, shuffle(element), kDeflate}),
                   deflated(shuffled(with_fletcher32(plain), element))) == plain);
      CHECK(undone(block_of(length, {kDeflate, shuffle(element)}), shuffled(deflated(plain), element)) == plain);
    }
  }
}

TEST_CASE("fletcher32 is accepted in both byte orders that HDF5 has written, and refused when a byte differs") {
  const Bytes plain{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}, std::byte{'e'}};
  Bytes stored = with_fletcher32(plain);
  CHECK(undone(block_of(5, {kFletcher}), stored) == plain);
  std::swap(stored[5], stored[6]);
  std::swap(stored[7], stored[8]);
  CHECK(undone(block_of(5, {kFletcher}), stored) == plain);
  stored[0] ^= std::byte{1};
  CHECK(kind_of_failure(block_of(5, {kFletcher}), stored) == ErrorKind::corrupt);
}

TEST_CASE("a block that decodes to more or fewer bytes than declared is corrupt") {
  const Bytes plain = noise(1000);
  for (const std::size_t declared : {0U, 1U, 999U, 1001U, 5000U}) {
    CHECK(kind_of_failure(block_of(declared, {}), plain) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {kDeflate}), deflated(plain)) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {shuffle(4)}), plain) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {shuffle(4), kDeflate}), deflated(plain)) == ErrorKind::corrupt);
    CHECK(kind_of_failure(block_of(declared, {kFletcher}), with_fletcher32(plain)) == ErrorKind::corrupt);
  }
}

TEST_CASE("what is not known here is refused by number, and a double deflate by name") {
  const Filter szip{static_cast<Filter::Id>(4), 0};
  CHECK(kind_of_failure(block_of(8, {szip}), noise(8)) == ErrorKind::unsupported);
  CHECK(kind_of_failure(block_of(8, {kDeflate, kDeflate}), deflated(deflated(noise(8)))) == ErrorKind::unsupported);
}

TEST_CASE("cut and flipped blocks give an error or bytes, and stay inside their buffers") {
  const Bytes plain = noise(3000);
  const Block block = block_of(plain.size(), {shuffle(4), kDeflate, kFletcher});
  const Bytes stored = with_fletcher32(deflated(shuffled(plain, 4)));
  for (std::size_t length = 0; length < stored.size(); length += 13) {
    const Bytes cut(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK(kind_of_failure(block, cut) == ErrorKind::corrupt);
  }
  std::mt19937 random(kSeed);
  const Block unchecked = block_of(plain.size(), {shuffle(4), kDeflate});
  for (int round = 0; round < 500; ++round) {
    Bytes broken = deflated(shuffled(plain, 4));
    broken[random() % broken.size()] ^= static_cast<std::byte>(1U << random() % 8);
    CHECK(kind_of_failure(unchecked, broken) == ErrorKind::corrupt);  // zlib's own checksum sees it
  }
}
