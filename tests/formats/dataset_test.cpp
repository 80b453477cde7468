#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/labels/emptiness.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::dataset_test {
namespace {

Piece block_piece(std::uint32_t block, std::uint64_t offset, std::uint64_t length) {
  return {.kind = Piece::Kind::block, .block = block, .offset = offset, .length = length, .inline_bytes = {}};
}

// Shard 0 has `jpg` and `cls`, shard 1 is empty, shard 2 has `txt` and `jpg` in another order and with another codec.
Dataset three_shards(const std::filesystem::path& root) {
  std::vector<Dataset::Shard> shards;
  {
    IndexBuilder builder;
    builder.add_file({.path = "a.bin", .size = 10, .stamp = 0});
    const auto block = builder.add_block({.extent = {0, 4, 6}, .filters = {}, .decoded_length = 6});
    const auto jpg = builder.field({.name = "jpg", .codec = "jpeg"});
    const auto cls = builder.field({.name = "cls", .codec = "cls"});
    for (int i = 0; i < 2; ++i) {
      builder.add_sample("a" + std::to_string(i));
      builder.set(jpg, Extent{0, static_cast<std::uint64_t>(2 * i), 2}, 7);
      builder.set(cls, std::vector{block_piece(block, static_cast<std::uint64_t>(3 * i), 3)});
    }
    shards.push_back({.index = std::move(builder).finish(), .root = root, .name = "first"});
  }
  shards.push_back({.index = IndexBuilder().finish(), .root = root, .name = "empty"});
  {
    IndexBuilder builder;
    builder.add_file({.path = "gone.bin", .size = 10, .stamp = 0});
    builder.add_file({.path = "b.bin", .size = 11, .stamp = 0});
    builder.add_block({.extent = {1, 0, 3}, .filters = {}, .decoded_length = 3});
    const auto block = builder.add_block({.extent = {1, 3, 3}, .filters = {}, .decoded_length = 3});
    const auto txt = builder.field({.name = "txt", .codec = "txt"});
    const auto jpg = builder.field({.name = "jpg", .codec = ""});
    builder.add_sample("b0");
    builder.set(jpg,
                std::vector{block_piece(block, 0, 3),
                            Piece{.kind = Piece::Kind::fill, .length = 5, .inline_bytes = bytes_of("xy")},
                            Piece{.kind = Piece::Kind::extent, .extent = {1, 8, 2}, .length = 2, .inline_bytes = {}}});
    builder.add_sample("b1");
    builder.set(jpg, Extent{1, 8, 3});
    builder.set(txt, Extent{0, 0, 1});
    shards.push_back({.index = std::move(builder).finish(), .root = root, .name = "last"});
  }
  write_file(root / "a.bin", "0123456789");
  write_file(root / "b.bin", "abcdefghij");
  return Dataset(root, "test", std::move(shards), {"cat"}, false);
}

}  // namespace

TEST_CASE("fields are unified by name, and numbered alike for all shards") {
  const TemporaryFolder folder;
  const Dataset dataset = three_shards(folder.path());
  REQUIRE(dataset.size() == 4);
  REQUIRE(dataset.fields().size() == 3);
  CHECK(dataset.fields()[0].name == "jpg");
  CHECK(dataset.fields()[0].codec.empty());  // the shards do not agree
  CHECK(dataset.fields()[1].codec == "cls");
  CHECK(dataset.complete(*dataset.field("jpg")));
  CHECK_FALSE(dataset.complete(*dataset.field("cls")));
  CHECK_FALSE(dataset.complete(*dataset.field("txt")));
  CHECK_FALSE(dataset.field("png"));
}

TEST_CASE("samples, files and blocks are numbered over all shards") {
  const TemporaryFolder folder;
  const Dataset dataset = three_shards(folder.path());
  CHECK(dataset.key(0) == "a0");
  CHECK(dataset.key(2) == "b0");
  CHECK(dataset.find("b1") == 3);
  CHECK_FALSE(dataset.find("c"));
  CHECK(dataset.shard_of(1) == 0);
  CHECK(dataset.shard_of(2) == 2);
  CHECK(dataset.first_sample(2) == 2);
  CHECK(dataset.first_sample(3) == 4);
  CHECK(dataset.file_count() == 3);
  CHECK(dataset.file(2).path == folder / "b.bin");
  CHECK(dataset.block_count() == 3);
  CHECK(dataset.block(2).extent == Extent{2, 3, 3});

  std::vector<Piece> pieces;
  REQUIRE(dataset.locate(3, 0, pieces));
  CHECK(pieces[0].extent == Extent{2, 8, 3});
  REQUIRE(dataset.locate(2, 0, pieces));
  CHECK(pieces[0].block == 2);
  CHECK_FALSE(dataset.locate(2, *dataset.field("cls"), pieces));
  CHECK(dataset.length(2, 0) == 10);
  CHECK(dataset.length(2, *dataset.field("cls")) == 0);
  CHECK(dataset.crc32c(1, 0) == 7);
  CHECK_FALSE(dataset.crc32c(3, 0));
}

TEST_CASE("read_field joins pieces of every kind") {
  const TemporaryFolder folder;
  const Dataset dataset = three_shards(folder.path());
  CHECK(text_of(read_field(dataset, 1, 0)) == "23");
  CHECK(text_of(read_field(dataset, 1, 1)) == "789");
  CHECK(text_of(read_field(dataset, 2, 0)) == "defxyxyxij");
}

TEST_CASE("read_field names dataset, shard, key and field when it fails") {
  const TemporaryFolder folder;
  const Dataset dataset = three_shards(folder.path());
  CHECK_THROWS_WITH_AS(read_field(dataset, 3, 0), doctest::Contains("sample b1: field jpg: offset 8"), Error);
  CHECK_THROWS_WITH_AS(read_field(dataset, 3, 0), doctest::Contains("file ends inside the field"), Error);
  CHECK_THROWS_WITH_AS(read_field(dataset, 3, 2), doctest::Contains("gone.bin"), Error);
  CHECK_THROWS_WITH_AS(read_field(dataset, 0, 2), doctest::Contains("lacks this field"), Error);
}

TEST_CASE("numbers outside the dataset are errors") {
  const TemporaryFolder folder;
  const Dataset dataset = three_shards(folder.path());
  std::vector<Piece> pieces;
  CHECK_THROWS_AS(dataset.key(4), Error);
  CHECK_THROWS_AS(dataset.locate(4, 0, pieces), Error);
  CHECK_THROWS_AS(dataset.locate(0, 3, pieces), Error);
  CHECK_THROWS_AS(dataset.file(3), Error);
  CHECK_THROWS_AS(dataset.block(3), Error);
  CHECK_FALSE(dataset.complete(9));
}

TEST_CASE("the fingerprint is of the keys in order, not of the shards") {
  const auto made_of = [](const std::vector<std::vector<std::string>>& keys) {
    std::vector<Dataset::Shard> shards;
    for (const auto& shard : keys) {
      IndexBuilder builder;
      for (const std::string& key : shard) builder.add_sample(key);
      shards.push_back({.index = std::move(builder).finish(), .root = {}, .name = {}});
    }
    return Dataset("x", "test", std::move(shards), {}, false).fingerprint();
  };
  CHECK(made_of({{"a", "b", "c"}}) == made_of({{"a"}, {}, {"b", "c"}}));
  CHECK(made_of({{"a", "b", "c"}}) != made_of({{"a", "c", "b"}}));
  CHECK(made_of({{"a", "b"}}) != made_of({{"ab"}}));
}

TEST_CASE("a dataset of which nothing can be loaded says why, and is not packed") {
  const auto dataset_of = [](const std::string& format, int samples, bool packed) {
    IndexBuilder builder;
    for (int i = 0; i < samples; ++i) builder.add_sample(std::to_string(i));
    std::vector<Dataset::Shard> shards;
    shards.push_back({.index = std::move(builder).finish(), .root = "here", .name = "shard"});
    return Dataset("here", format, std::move(shards), {}, packed);
  };
  const auto why = [&](const Dataset& dataset, const std::string& expected) {
    CHECK(emptiness(dataset) == expected);
    CHECK_THROWS_WITH_AS(require_something_to_pack(dataset),
                         doctest::Contains(("nothing to pack: " + expected).c_str()), Error);
  };
  why(dataset_of("tar", 0, false), "0 samples: its tar files hold no members");
  why(dataset_of("lmdb", 0, false), "0 samples: its lmdb files hold no values");
  why(dataset_of("tar", 0, true), "0 samples: no sample was packed");
  why(dataset_of("tar", 2, false), "2 samples without fields: there is nothing to load");
  const TemporaryFolder folder;
  const Dataset some = three_shards(folder.path());
  CHECK(emptiness(some).empty());
  CHECK_NOTHROW(require_something_to_pack(some));
}

}  // namespace penstock::test::dataset_test
