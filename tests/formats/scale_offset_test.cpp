#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/filters/filters.hpp>
#include <formats/filters/scale_offset.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/hdf5_files.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::scale_offset_test {

using Bytes = std::vector<std::byte>;

namespace {

constexpr unsigned kSeed = 20240611;

Bytes number(std::uint64_t value, std::size_t bytes) {
  Bytes made;
  for (; bytes-- > 0; value >>= 8) made.push_back(static_cast<std::byte>(value));
  return made;
}

// Bit by bit: a header of 21 bytes, then the codes, their highest bits first.
Bytes packed(std::uint32_t bits, std::uint64_t smallest, const std::vector<std::uint64_t>& codes) {
  Bytes stored = number(bits, 4);
  stored.push_back(std::byte{8});
  for (const std::uint64_t word : {smallest, std::uint64_t{0}})
    for (const std::byte byte : number(word, 8)) stored.push_back(byte);
  const std::size_t head = stored.size();
  stored.resize(head + codes.size() * bits / 8 + 1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t bit = 0; bit < bits; ++bit) {
      const std::size_t at = i * bits + bit;
      if ((codes[i] >> (bits - 1 - bit) & 1U) != 0) stored[head + at / 8] |= std::byte{0x80} >> (at % 8);
    }
  }
  return stored;
}

Block block_of(std::size_t decoded_length, const ScaleOffset& parameters) {
  const auto filters = penstock::scale_offset_filters(parameters);
  return {.extent = {}, .filters = {filters.begin(), filters.end()}, .decoded_length = decoded_length};
}

template <typename T>
std::vector<T> undone(const ScaleOffset& parameters, const Bytes& stored, std::size_t count) {
  Bytes decoded, scratch;
  penstock::undo_filters(block_of(count * sizeof(T), parameters), stored, decoded, scratch);
  std::vector<T> values(count);
  std::memcpy(values.data(), decoded.data(), decoded.size());
  return values;
}

std::string failure(const Block& block, const Bytes& stored) {
  try {
    Bytes decoded, scratch;
    penstock::undo_filters(block, stored, decoded, scratch);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    return error.cause();
  }
  return "no error";
}

}  // namespace

TEST_CASE("integers are the smallest element and a code, whose highest value stands for the fill value") {
  const Bytes stored = packed(3, static_cast<std::uint64_t>(-5), {0, 1, 6, 7, 2, 5, 7, 0, 3});
  CHECK(undone<std::int16_t>({.element = 2, .fill = {}}, stored, 9) ==
        std::vector<std::int16_t>{-5, -4, 1, 2, -3, 0, 2, -5, -2});
  CHECK(undone<std::int16_t>({.element = 2, .fill = 99}, stored, 9) ==
        std::vector<std::int16_t>{-5, -4, 1, 99, -3, 0, 99, -5, -2});
  CHECK(undone<std::int16_t>({.element = 2, .big_endian = true, .fill = {}}, stored, 2) ==
        std::vector<std::int16_t>{static_cast<std::int16_t>(0xFBFF), static_cast<std::int16_t>(0xFCFF)});
}

TEST_CASE("codes of every number of bits are read") {
  std::mt19937_64 random(kSeed);
  for (std::uint32_t bits = 1; bits < 64; ++bits) {
    CAPTURE(bits);
    std::vector<std::uint64_t> codes(101);
    for (std::uint64_t& code : codes) code = random() >> (64 - bits);
    std::vector<std::uint64_t> expected = codes;
    for (std::uint64_t& value : expected) value += 1000;
    CHECK(undone<std::uint64_t>({.element = 8, .fill = {}}, packed(bits, 1000, codes), 101) == expected);
  }
}

TEST_CASE("no bits stand for equal elements, and all bits for unchanged ones") {
  CHECK(undone<std::uint8_t>({.element = 1, .fill = {}}, packed(0, 7, {}), 4) == std::vector<std::uint8_t>(4, 7));
  CHECK(undone<std::uint8_t>({.element = 1, .fill = 9}, packed(0, 7, {}), 4) == std::vector<std::uint8_t>(4, 9));
  CHECK(undone<std::uint8_t>({.element = 1, .fill = 9}, packed(8, 7, {1, 9, 255}), 3) ==
        std::vector<std::uint8_t>{1, 9, 255});
}

TEST_CASE("floats are codes divided by a power of ten") {
  std::uint64_t smallest = 0;
  const float least = -1.5F;
  std::memcpy(&smallest, &least, sizeof(least));
  const Bytes stored = packed(10, smallest, {0, 250, 1023});
  CHECK(undone<float>({.element = 4, .floats = true, .decimals = 2, .fill = {}}, stored, 3) ==
        std::vector<float>{-1.5F, 1.0F, 1023 / 100.0F - 1.5F});
  CHECK(undone<float>({.element = 4, .floats = true, .decimals = 2, .fill = 0}, stored, 3)[2] == 0.0F);
}

TEST_CASE("cut blocks, and numbers of bits that elements do not have, are corrupt") {
  const Bytes stored = packed(5, 3, std::vector<std::uint64_t>(100, 17));
  const Block block = block_of(400, {.element = 4, .fill = {}});
  REQUIRE(failure(block, stored) == "no error");
  for (std::size_t length = 0; length + 1 < stored.size(); ++length)
    CHECK(failure(block, {stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length)}) != "no error");
  CHECK(failure(block, packed(33, 3, std::vector<std::uint64_t>(100, 17))) == "scale-offset block is broken");
  CHECK(failure(block_of(401, {.element = 4, .fill = {}}), stored) != "no error");
  CHECK(failure(block_of(300, {.element = 3, .fill = {}}), stored) == "a scale-offset filter for elements of 3 bytes");
  Block incomplete = block;
  incomplete.filters.pop_back();
  CHECK(failure(incomplete, stored) == "a scale-offset filter without its parameters");
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    Bytes changed = stored;
    changed[random() % 30] = static_cast<std::byte>(random());
    failure(block, changed);
  }
}

TEST_CASE("what libhdf5 packs is read, with a fill value, another one and none") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "f.h5";
  std::string integers, floats;
  {
    const Foreign file(path);
    const std::int32_t fill = 3;
    for (const void* value : {static_cast<const void*>(&fill), static_cast<const void*>(nullptr)}) {
      const std::string name = value == nullptr ? "_without" : "_with";
      const auto packing = chunked({20, 3});
      H5Pset_scaleoffset(packing.get(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
      if (value == nullptr) H5Pset_fill_time(packing.get(), H5D_FILL_TIME_NEVER);
      REQUIRE(H5Pset_fill_value(packing.get(), H5T_NATIVE_INT32, value) >= 0);
      integers = file.dataset<std::int32_t>("integers" + name, H5T_STD_I32BE, {50, 3}, packing);
      const auto decimals = chunked({20, 3});
      H5Pset_scaleoffset(decimals.get(), H5Z_SO_FLOAT_DSCALE, 3);
      if (value == nullptr) H5Pset_fill_time(decimals.get(), H5D_FILL_TIME_NEVER);
      REQUIRE(H5Pset_fill_value(decimals.get(), H5T_NATIVE_INT32, value) >= 0);
      floats = file.dataset<double>("floats" + name, H5T_IEEE_F64LE, {50, 3}, decimals);
    }
  }
  const Index index = hdf5_index(path);
  REQUIRE(index.fields().size() == 4);
  for (std::uint32_t field = 0; field < 4; ++field) {
    const bool is_float = index.fields()[field].name.starts_with("floats");
    std::string all;
    for (std::uint64_t row = 0; row < 50; ++row) all += field_bytes(index, folder.path(), row, field).value();
    CAPTURE(index.fields()[field].name);
    CHECK(all == (is_float ? floats : integers));
  }
}

}  // namespace penstock::test::scale_offset_test
