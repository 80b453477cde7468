#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/index/difference.hpp>
#include <formats/index/index.hpp>
#include <formats/index/rewritten.hpp>
#include <formats/mosaic.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::rewritten_test {
namespace {

Piece inline_of(std::span<const std::byte> bytes) {
  return {.kind = Piece::Kind::bytes, .length = bytes.size(), .inline_bytes = bytes};
}

// Every kind of piece, one behind the other; text beside it, in the first sample alone.
Index small_index() {
  IndexBuilder builder;
  builder.add_file({.path = "x.bin", .size = std::uint64_t{1} << 20, .stamp = 7});
  const std::uint32_t x = builder.field({.name = "x", .codec = "raw"});
  const std::uint32_t txt = builder.field({.name = "txt", .codec = "txt"});
  const std::uint32_t tile = builder.add_block({.extent = {0, 16, 8}, .filters = {}, .decoded_length = 8});
  builder.add_block({.extent = {0, 0, 0}, .filters = {}, .decoded_length = 0});
  const std::uint32_t mosaic = builder.add_block(
      {.extent = {},
       .filters = {},
       .decoded_length = 12,
       .mosaic = Mosaic{.first_block = tile, .element_bytes = 2, .dims = {3, 2}, .tile_dims = {2, 2}, .fill = {}}});
  const std::uint32_t packed =
      builder.add_block({.extent = {0, 100, 9}, .filters = {{Filter::Id::deflate, 0}}, .decoded_length = 16});
  builder.add_sample("whole");
  builder.set(x, Extent{0, 8, 100'000}, 3);
  builder.set_range_sums(x, std::vector<std::uint32_t>{1, 2});
  builder.set(txt, std::vector{inline_of(bytes_of("seven"))}, 5);
  builder.set_header(txt, bytes_of("head"));
  builder.add_sample("pieces");
  builder.set(
      x, std::vector{Piece{.kind = Piece::Kind::extent, .extent = {0, 0, 6}, .length = 6, .inline_bytes = {}},
                     Piece{.kind = Piece::Kind::block, .block = packed, .offset = 4, .length = 4, .inline_bytes = {}},
                     Piece{.kind = Piece::Kind::block, .block = mosaic, .offset = 2, .length = 6, .inline_bytes = {}},
                     inline_of(bytes_of("inline")),
                     Piece{.kind = Piece::Kind::fill, .length = 9, .inline_bytes = bytes_of("fill")}});
  builder.add_sample("none");
  builder.set_attributes(R"({"left_out": {"y": "why"}})");
  return std::move(builder).finish();
}

}  // namespace

TEST_CASE("a copy without a rewrite tells what the index told") {
  const Index index = small_index();
  const Index copy = rewritten(index, {});
  CHECK(index_difference(index, copy) == std::nullopt);
  CHECK(copy.key_hash() == index.key_hash());
  CHECK(copy.crc32c(0, 0) == index.crc32c(0, 0));
  CHECK(copy.crc32c(0, 1) == 5);
  CHECK(std::ranges::equal(copy.header(0, 1), bytes_of("head")));
  CHECK(copy.block_count() == index.block_count());
  CHECK(copy.range_sums(0, 0).size() == 2);
  CHECK(copy.range_sums(0, 0)[1] == 2);
  CHECK(copy.file(0) == index.file(0));
}

TEST_CASE("values in the index are rewritten, and the others stay") {
  const Index index = small_index();
  const FieldRewrite twice{.field = 1,
                           .schema = {.name = "words", .codec = "json"},
                           .value = inline_values([](std::span<const std::byte> bytes) {
                             std::vector<std::byte> made(bytes.begin(), bytes.end());
                             made.insert(made.end(), bytes.begin(), bytes.end());
                             return made;
                           })};
  const Index copy = rewritten(index, {&twice, 1});
  CHECK(copy.fields()[1].name == "words");
  std::vector<Piece> pieces;
  REQUIRE(copy.locate(0, 1, pieces));
  REQUIRE(pieces.size() == 1);
  CHECK(std::ranges::equal(pieces[0].inline_bytes, bytes_of("sevenseven")));
  CHECK(copy.crc32c(0, 1) == std::nullopt);
  CHECK_FALSE(copy.locate(1, 1, pieces));
  CHECK(copy.crc32c(0, 0) == index.crc32c(0, 0));
}

TEST_CASE("a value that lies in a file is not rewritten as one in the index") {
  const Index index = small_index();
  const FieldRewrite same{
      .field = 0, .schema = index.fields()[0], .value = inline_values([](std::span<const std::byte> bytes) {
                                                 return std::vector<std::byte>(bytes.begin(), bytes.end());
                                               })};
  CHECK_THROWS_WITH_AS(rewritten(index, {&same, 1}),
                       doctest::Contains("sample whole: field x: unsupported: the value is stored in a file"), Error);
}

}  // namespace penstock::test::rewritten_test
