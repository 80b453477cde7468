#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::index_test {
namespace {

// Every kind of entry, a late field, blocks with filters, headers for some samples, and attributes.
Index small_index() {
  IndexBuilder builder;
  builder.add_file({.path = "a.bin", .size = 1000, .stamp = 7});
  builder.add_file({.path = "deep/b.bin", .size = std::uint64_t{1} << 41, .stamp = 8});
  const std::uint32_t jpg = builder.field({.name = "jpg", .codec = "jpeg"});
  const std::uint32_t row =
      builder.field({.name = "row", .codec = "raw", .dtype = DType::f32, .shape = {3, 4}, .fixed = true});
  const std::uint32_t block = builder.add_block(
      {.extent = {1, 100, 50}, .filters = {{Filter::Id::shuffle, 4}, {Filter::Id::deflate, 0}}, .decoded_length = 96});
  builder.add_block({.extent = {0, 0, 10}, .filters = {}, .decoded_length = 10});

  builder.add_sample("a/1");
  builder.set(jpg, Extent{0, 10, 20}, 0xDEADBEEF);
  builder.set_header(jpg, bytes_of("head"));
  builder.set(row, std::vector{Piece{
                       .kind = Piece::Kind::block, .block = block, .offset = 48, .length = 48, .inline_bytes = {}}});

  builder.add_sample("a/2");
  builder.set(jpg, Extent{1, 0, (std::uint64_t{1} << 40) - 1});

  builder.add_sample("b");
  const std::uint32_t cls = builder.field({.name = "cls", .codec = "cls"});
  builder.set(cls, std::vector{Piece{.kind = Piece::Kind::bytes, .length = 2, .inline_bytes = bytes_of("17")}}, 5);
  builder.set(jpg, Extent{0, 0, 0});
  builder.set(row, std::vector{Piece{.kind = Piece::Kind::extent, .extent = {1, 5, 8}, .length = 8, .inline_bytes = {}},
                               Piece{.kind = Piece::Kind::fill, .length = 40, .inline_bytes = bytes_of("\1\2\3\4")}});
  builder.set_header(row, bytes_of("x"));
  builder.set_attributes(R"({"classes": ["x"]})");
  return std::move(builder).finish();
}

// Calls every accessor for every number the index claims to have (bounded: claims may be huge).
void touch_everything(const Index& index) {
  std::vector<Piece> pieces;
  const auto quietly = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      CHECK_MESSAGE(error.kind() == ErrorKind::corrupt, std::string(error.what()));
    }
  };
  const auto sum = [](std::span<const std::byte> bytes) {
    unsigned total = 0;
    for (const std::byte byte : bytes) total += static_cast<unsigned>(byte);
    return total;
  };
  volatile unsigned sink = 0;
  for (std::uint64_t sample = 0; sample < std::min<std::uint64_t>(index.size(), 100); ++sample) {
    quietly([&] { sink = sink + sum(bytes_of(index.key(sample))); });
    for (std::uint32_t field = 0; field < std::min<std::size_t>(index.fields().size(), 100); ++field) {
      quietly([&] {
        index.locate(sample, field, pieces);
        for (const Piece& piece : pieces) sink = sink + sum(piece.inline_bytes);
      });
      quietly([&] { index.length(sample, field); });
      quietly([&] { index.crc32c(sample, field); });
      quietly([&] { sink = sink + sum(index.header(sample, field)); });
      index.complete(field);
    }
  }
  for (std::uint32_t i = 0; i < std::min(index.block_count(), 100U); ++i) quietly([&] { index.block(i); });
  for (std::uint32_t i = 0; i < std::min(index.file_count(), 100U); ++i) quietly([&] { index.file(i); });
  quietly([&] { index.find("a/2"); });
  quietly([&] { index.verify(); });
  sink = sink + sum(bytes_of(index.attributes()));
}

}  // namespace

TEST_CASE("an index gives back what the builder was told") {
  const Index index = small_index();
  REQUIRE(index.size() == 3);
  REQUIRE(index.fields().size() == 3);
  CHECK(index.fields()[1] ==
        FieldSchema{.name = "row", .codec = "raw", .dtype = DType::f32, .shape = {3, 4}, .fixed = true});
  CHECK(index.key(2) == "b");
  CHECK(index.find("a/2") == 1);
  CHECK_FALSE(index.find("a/3"));
  CHECK(index.complete(0));
  CHECK_FALSE(index.complete(1));
  CHECK_FALSE(index.complete(2));
  CHECK(index.file(1) == IndexedFile{.path = "deep/b.bin", .size = std::uint64_t{1} << 41, .stamp = 8});
  CHECK(index.attributes() == R"({"classes": ["x"]})");

  std::vector<Piece> pieces;
  REQUIRE(index.locate(0, 0, pieces));
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].extent == Extent{0, 10, 20});
  CHECK(pieces[0].length == 20);
  CHECK(index.crc32c(0, 0) == 0xDEADBEEF);
  CHECK(text_of(index.header(0, 0)) == "head");
  CHECK(index.header(1, 0).empty());
  CHECK(index.header(2, 0).empty());
  CHECK(text_of(index.header(2, 1)) == "x");
  CHECK(index.header(0, 1).empty());
  CHECK(index.length(1, 0) == (std::uint64_t{1} << 40) - 1);
  CHECK_FALSE(index.crc32c(1, 0));

  REQUIRE(index.locate(0, 1, pieces));
  CHECK(pieces[0].kind == Piece::Kind::block);
  CHECK(pieces[0].offset == 48);
  CHECK(index.block(pieces[0].block) == Block{.extent = {1, 100, 50},
                                              .filters = {{Filter::Id::shuffle, 4}, {Filter::Id::deflate, 0}},
                                              .decoded_length = 96});
  CHECK(index.block(1).filters.empty());

  CHECK_FALSE(index.locate(1, 1, pieces));
  CHECK(pieces.empty());
  REQUIRE(index.locate(2, 1, pieces));
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].extent == Extent{1, 5, 8});
  CHECK(pieces[1].kind == Piece::Kind::fill);
  CHECK(text_of(pieces[1].inline_bytes) == "\1\2\3\4");
  CHECK(index.length(2, 1) == 48);
  REQUIRE(index.locate(2, 2, pieces));
  CHECK(text_of(pieces[0].inline_bytes) == "17");
  index.verify();
}

TEST_CASE("an index without samples, fields or files is an index") {
  const Index index = IndexBuilder().finish();
  CHECK(index.size() == 0);
  CHECK(index.fields().empty());
  CHECK(index.attributes() == "{}");
  CHECK_FALSE(index.find("x"));
}

TEST_CASE("keys out of order are found") {
  IndexBuilder builder;
  for (const char* key : {"c", "a", "b"}) builder.add_sample(key);
  const Index index = std::move(builder).finish();
  CHECK(index.find("a") == 1);
  CHECK(index.find("b") == 2);
  CHECK_FALSE(index.find("d"));
}

TEST_CASE("sorting leaves no trace of the order in which samples and fields were added") {
  struct Added {
    std::string key, field, bytes, header;
  };
  std::vector<Added> values;
  for (int i = 0; i < 60; ++i) {
    const std::string key = std::to_string(i / 3);
    if (i % 3 != 2 || i % 4 == 0)
      values.push_back({key, std::string(1, static_cast<char>('a' + i % 3)), key + "!", i % 2 == 0 ? key : ""});
  }
  std::vector<std::byte> first;
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::vector<std::string> order;
    for (int i = 0; i < 20; ++i) order.push_back(std::to_string(i));
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    IndexBuilder builder;
    for (const std::string& key : order) {
      builder.add_sample(key);
      std::vector<Added> own;
      std::copy_if(values.begin(), values.end(), std::back_inserter(own), [&](const Added& v) { return v.key == key; });
      std::shuffle(own.begin(), own.end(), std::mt19937(seed));
      for (const Added& value : own) {
        const std::uint32_t field = builder.field({.name = value.field, .codec = ""});
        builder.set(field, Extent{0, static_cast<std::uint64_t>(std::stoi(key)), value.bytes.size()});
        builder.set_header(field, bytes_of(value.header));
      }
    }
    builder.sort();
    const Index index = std::move(builder).finish();
    if (seed == 0) first.assign(index.bytes().begin(), index.bytes().end());
    CHECK(std::vector(index.bytes().begin(), index.bytes().end()) == first);
    CHECK(index.key(1) == "1");
    CHECK(index.key(2) == "10");
    CHECK(index.find("17").has_value());
    for (const Added& value : values) {
      std::uint32_t field = 0;
      while (index.fields()[field].name != value.field) ++field;
      CHECK(text_of(index.header(*index.find(value.key), field)) == value.header);
    }
  }
}

TEST_CASE("a field set twice is an error that names key and field") {
  IndexBuilder builder;
  const std::uint32_t field = builder.field({.name = "jpg", .codec = ""});
  builder.add_sample("cat");
  CHECK_FALSE(builder.has(field));
  builder.set(field, Extent{});
  CHECK(builder.has(field));
  CHECK_THROWS_WITH_AS(builder.set(field, Extent{}), doctest::Contains("sample cat: field jpg"), Error);
}

TEST_CASE("key_hash does not depend on how samples are spread over shards") {
  const auto hash_of = [](std::uint64_t first, std::uint64_t last) {
    IndexBuilder builder;
    for (std::uint64_t i = first; i < last; ++i) builder.add_sample("key" + std::to_string(i));
    return std::move(builder).finish().key_hash();
  };
  for (const std::uint64_t split : {0U, 1U, 50U, 99U, 100U}) {
    CHECK(hash_of(0, split) * key_hash_power(100 - split) + hash_of(split, 100) == hash_of(0, 100));
  }
  CHECK(hash_of(0, 2) != hash_of(1, 3));
}

TEST_CASE("an index cut at any length is corrupt") {
  const Index whole = small_index();
  for (std::size_t length = 0; length < whole.bytes().size(); ++length) {
    const auto cut = whole.bytes().first(length);
    REQUIRE_THROWS_AS(Index::from_bytes({cut.begin(), cut.end()}), Error);
  }
}

TEST_CASE("an index with any byte flipped gives an error or values within bounds") {
  const Index whole = small_index();
  const std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      std::vector<std::byte> copy = bytes;
      copy[i] ^= static_cast<std::byte>(flip);
      try {
        touch_everything(Index::from_bytes(std::move(copy)));
      } catch (const Error& error) {
        CHECK((error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::unsupported));
      }
    }
  }
}

TEST_CASE("an index file with any byte flipped is not opened") {
  const test::TemporaryFolder folder;
  const Index whole = small_index();
  const std::string bytes = text_of(whole.bytes());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string copy = bytes;
    copy[i] = static_cast<char>(copy[i] ^ (1 << i % 8));
    test::write_file(folder / "flipped.idx", copy);
    REQUIRE_THROWS_AS(Index::open(folder / "flipped.idx"), Error);
  }
  test::write_file(folder / "whole.idx", bytes);
  CHECK(Index::open(folder / "whole.idx").size() == whole.size());
}

TEST_CASE("verify() notices flipped content in memory") {
  const Index whole = small_index();
  std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
  bytes.back() ^= std::byte{1};
  CHECK_THROWS_WITH_AS(Index::from_bytes(bytes).verify(), doctest::Contains("checksum"), Error);
}

TEST_CASE("opening an index takes one pass over its bytes") {
  const test::TemporaryFolder folder;
  constexpr std::uint64_t kSamples = 1'000'000;
  {
    IndexBuilder builder;
    const std::uint32_t file = builder.add_file({.path = "shard-000000.tar", .size = kSamples * 1024, .stamp = 1});
    const std::uint32_t png = builder.field({.name = "png", .codec = "png"});
    const std::uint32_t cls = builder.field({.name = "cls", .codec = "cls"});
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      builder.add_sample("class/" + std::to_string(1'000'000 + i));
      builder.set(png, Extent{file, i * 1024, 900}, 1);
      builder.set(cls, Extent{file, i * 1024 + 1000, 1}, 2);
    }
    const Index index = std::move(builder).finish();
    test::write_file(folder / "big.idx", text_of(index.bytes()));
  }
  const auto start = std::chrono::steady_clock::now();
  const Index index = Index::open(folder / "big.idx");
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  MESSAGE("opened " << index.size() << " samples (" << index.bytes().size() << " bytes) in " << spent.count() << " ms");
  CHECK(index.size() == kSamples);
  CHECK(index.key(kSamples - 1) == "class/1999999");
  CHECK(index.find("class/1500000") == 500'000);
  CHECK(index.length(77, 0) == 900);
}

TEST_CASE("an index that cannot be opened says which file") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(Index::open(folder / "none.idx"), doctest::Contains("none.idx"), Error);
  test::write_file(folder / "text.idx", std::string(1000, 'x'));
  CHECK_THROWS_WITH_AS(Index::open(folder / "text.idx"), doctest::Contains("text.idx"), Error);
  test::write_file(folder / "empty.idx", "");
  CHECK_THROWS_AS(Index::open(folder / "empty.idx"), Error);
}

TEST_CASE("samples that share no field are refused before their index takes gigabytes") {
  IndexBuilder builder;
  const auto add_samples = [&builder](int count) {
    for (int i = 0; i < count; ++i) {
      builder.add_sample(std::to_string(i));
      builder.set(builder.field({.name = "0." + std::to_string(i), .codec = ""}), Extent{0, 0, 1});
    }
  };
  builder.add_file({.path = "a.bin", .size = 10, .stamp = 0});
  SUBCASE("at the end") {
    add_samples(2500);
    CHECK_THROWS_WITH_AS(std::move(builder).finish(), doctest::Contains("2500 different fields"), Error);
  }
  SUBCASE("as soon as they are too many") {
    CHECK_THROWS_WITH_AS(add_samples(1'000'000), doctest::Contains("different fields"), Error);
    CHECK(builder.size() < 5000);
  }
}

}  // namespace penstock::test::index_test
