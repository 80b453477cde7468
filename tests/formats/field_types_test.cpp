#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/filters/filters.hpp>
#include <formats/filters/widen.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/mosaic.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::field_types_test {
namespace {

template <typename T>
std::vector<std::byte> bytes_of_all(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Piece inline_of(std::span<const std::byte> bytes) {
  return {.kind = Piece::Kind::bytes, .length = bytes.size(), .inline_bytes = bytes};
}

// 24 int16 in a file; a field of them that has every kind of piece, and a field of text beside it.
constexpr FieldSchema numbers(DType dtype) {
  return {.name = "x", .codec = "raw", .dtype = dtype};
}

const std::vector<std::int16_t> kStored = [] {
  std::vector<std::int16_t> numbers(24);
  std::iota(numbers.begin(), numbers.end(), std::int16_t{-12});
  return numbers;
}();

Dataset::Shard shard_of_numbers(const std::filesystem::path& root) {
  write_file(root / "x.bin", text_of(bytes_of_all(kStored)));
  IndexBuilder builder;
  builder.add_file({.path = "x.bin", .size = 48, .stamp = 0});
  const std::uint32_t x = builder.field(numbers(DType::i16)), txt = builder.field({.name = "txt", .codec = "txt"});
  const std::uint32_t swapped =
      builder.add_block({.extent = {0, 0, 16}, .filters = {{Filter::Id::byte_swap, 2}}, .decoded_length = 16});
  // (3, 2) in two tiles of (2, 2), of which the second was never written.
  const std::uint32_t tile = builder.add_block({.extent = {0, 16, 8}, .filters = {}, .decoded_length = 8});
  builder.add_block({.extent = {0, 0, 0}, .filters = {}, .decoded_length = 0});
  const std::vector<std::byte> fill = bytes_of_all<std::int16_t>({-7});
  const std::uint32_t mosaic = builder.add_block(
      {.extent = {},
       .filters = {},
       .decoded_length = 12,
       .mosaic = Mosaic{.first_block = tile, .element_bytes = 2, .dims = {3, 2}, .tile_dims = {2, 2}, .fill = fill}});

  builder.add_sample("extent");
  const auto stored = bytes_of_all(kStored);
  builder.set(x, Extent{0, 8, 6}, crc32c(std::span(stored).subspan(8, 6)));
  builder.set(txt, std::vector{inline_of(bytes_of("seven"))}, 5);
  builder.set_header(txt, bytes_of("head"));
  builder.add_sample("broken");
  builder.set(x, Extent{0, 8, 6}, 1);
  builder.add_sample("slices");
  builder.set(
      x,
      std::vector{Piece{.kind = Piece::Kind::block, .block = swapped, .offset = 4, .length = 4, .inline_bytes = {}},
                  Piece{.kind = Piece::Kind::block, .block = swapped, .offset = 0, .length = 2, .inline_bytes = {}}});
  builder.add_sample("mosaic");
  builder.set(
      x, std::vector{Piece{.kind = Piece::Kind::block, .block = mosaic, .offset = 4, .length = 8, .inline_bytes = {}}});
  builder.add_sample("mixed");
  const std::array<std::byte, 1> zero{};
  builder.set(x, std::vector{inline_of(std::span(stored).first(4)),
                             Piece{.kind = Piece::Kind::fill, .length = 4, .inline_bytes = fill},
                             Piece{.kind = Piece::Kind::fill, .length = 4, .inline_bytes = zero}});
  builder.add_sample("empty");
  builder.set(x, std::span<const Piece>());
  builder.add_sample("absent");
  builder.set_attributes(R"({"left_out": {"y": "why"}})");
  return {.index = std::move(builder).finish(), .root = root, .name = "x"};
}

// Of another shard, which has one number of the dtype, inline.
Dataset::Shard shard_of(DType dtype, const std::filesystem::path& root) {
  IndexBuilder builder;
  builder.add_sample("other");
  const std::vector<std::byte> value(size_of(dtype));
  builder.set(builder.field(numbers(dtype)), std::vector{inline_of(value)});
  return {.index = std::move(builder).finish(), .root = root, .name = std::string(name(dtype))};
}

template <typename T>
std::vector<T> read(const Dataset& dataset, std::string_view key) {
  const std::vector<std::byte> bytes = read_field(dataset, *dataset.find(key), *dataset.field("x"));
  std::vector<T> values(bytes.size() / sizeof(T));
  REQUIRE(values.size() * sizeof(T) == bytes.size());
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("each kind of piece is widened to the larger dtype of another shard") {
  const TemporaryFolder folder;
  const auto expect = [](const Dataset& dataset) {
    CHECK(dataset.fields()[0].dtype == DType::i32);
    CHECK(dataset.fields()[0].differences.widened);
    CHECK(read<std::int32_t>(dataset, "extent") == std::vector{-8, -7, -6});
    CHECK(read<std::int32_t>(dataset, "mosaic") == std::vector{-2, -1, -7, -7});
    CHECK(read<std::int32_t>(dataset, "mixed") == std::vector{-12, -11, -7, -7, 0, 0});
    CHECK(read<std::int32_t>(dataset, "empty").empty());
    CHECK(read<std::int32_t>(dataset, "other") == std::vector{0});
    std::vector<std::int32_t> swapped;
    for (const int i : {2, 3, 0}) {
      const auto bits = static_cast<std::uint16_t>(kStored[static_cast<std::size_t>(i)]);
      swapped.push_back(static_cast<std::int16_t>(__builtin_bswap16(bits)));
    }
    CHECK(read<std::int32_t>(dataset, "slices") == swapped);
    std::vector<Piece> pieces;
    CHECK_FALSE(dataset.locate(*dataset.find("absent"), 0, pieces));
    CHECK_THROWS_WITH_AS(read<std::int32_t>(dataset, "broken"), doctest::Contains("CRC-32C of a block differs"), Error);
  };
  for (const bool first : {true, false}) {
    std::vector<Dataset::Shard> shards{shard_of_numbers(folder.path())};
    shards.insert(first ? shards.begin() : shards.end(), shard_of(DType::i32, folder.path()));
    expect(Dataset(folder.path(), "test", shards, {}, false));
  }
}

TEST_CASE("shards of several datasets are widened once more from what they are") {
  const TemporaryFolder folder;
  const Dataset two(folder.path(), "test", {shard_of_numbers(folder.path()), shard_of(DType::i32, folder.path())}, {},
                    false);
  Dataset::Shard shard = two.shard(0);
  CHECK(shard.typed);
  CHECK(shard.index.fields()[0].dtype == DType::i16);
  const Dataset wider(folder.path(), "test", {shard, shard_of(DType::i64, folder.path())}, {}, false);
  CHECK(read<std::int64_t>(wider, "extent") == std::vector<std::int64_t>{-8, -7, -6});
  const Dataset alone(folder.path(), "test", {shard}, {}, false);
  CHECK(read<std::int16_t>(alone, "extent") == std::vector<std::int16_t>{-8, -7, -6});
  shard.fields = {"", "txt"};  // others may have pieces of the field: they keep their numbers
  const Dataset left(folder.path(), "test", {shard}, {}, false);
  CHECK(left.block_count() == two.block_count());
}

TEST_CASE("of dtypes without a common one nothing is read, and the others are") {
  const TemporaryFolder folder;
  const Dataset dataset(folder.path(), "test", {shard_of_numbers(folder.path()), shard_of(DType::f32, folder.path())},
                        {}, false);
  CHECK_THROWS_WITH_AS(read<float>(dataset, "extent"),
                       doctest::Contains("float32 lists in float32 and int16 lists in x"), Error);
  CHECK(text_of(read_field(dataset, 0, *dataset.field("txt"))) == "seven");
}

TEST_CASE("the dtype of both has every number of both") {
  const std::array dtypes{DType::u8,  DType::i8,  DType::u16, DType::i16,  DType::u32, DType::i32,    DType::u64,
                          DType::i64, DType::f16, DType::f32, DType::bf16, DType::f64, DType::boolean};
  for (const DType a : dtypes) {
    for (const DType b : dtypes) {
      const auto both = dtype_of_both(a, b);
      CHECK(both == dtype_of_both(b, a));
      for (const DType c : dtypes) {
        const auto other = dtype_of_both(b, c);
        CHECK((both ? dtype_of_both(*both, c) : both) == (other ? dtype_of_both(a, *other) : other));
      }
    }
  }
  CHECK(dtype_of_both(DType::u8, DType::i8) == DType::i16);
  CHECK(dtype_of_both(DType::u32, DType::i8) == DType::i64);
  CHECK(dtype_of_both(DType::u64, DType::i64) == std::nullopt);
  CHECK(dtype_of_both(DType::u8, DType::f64) == std::nullopt);
  CHECK(dtype_of_both(DType::u8, DType::boolean) == std::nullopt);
  CHECK(dtype_of_both(DType::f16, DType::bf16) == DType::f32);
}

TEST_CASE("a block that is widened to a dtype that is not wider is broken") {
  const std::vector<std::byte> stored(4);
  std::vector<std::byte> decoded, scratch;
  for (const std::uint32_t parameter :
       {widening_parameter(DType::f32, DType::f32), widening_parameter(DType::i32, DType::f64), 0xFFFFFFFFU}) {
    const Block block{.extent = {0, 0, 4}, .filters = {{Filter::Id::widen, parameter}}, .decoded_length = 8};
    CHECK_THROWS_WITH_AS(undo_filters(block, stored, decoded, scratch), doctest::Contains("dtype that is not wider"),
                         Error);
    CHECK_THROWS_AS(longest_decoded(4, block.filters), Error);
  }
  const Block twice{.extent = {0, 0, 1},
                    .filters = std::vector<Filter>(9, {Filter::Id::widen, widening_parameter(DType::u8, DType::u64)}),
                    .decoded_length = std::uint64_t{1} << 27};
  CHECK_THROWS_AS(longest_decoded(1, twice.filters), Error);
}

}  // namespace penstock::test::field_types_test
