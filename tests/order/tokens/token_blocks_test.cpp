// Tests blocks of tokens in C++: values of several pieces, large tables, many threads.
// tests/python/test_tokens.py compares all blocks with a model of docs/spec/tokens.md.
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <base/parallel_for.hpp>
#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/select.hpp>

#include "support/field_bytes.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::token_blocks_test {
namespace {

template <typename Number>
std::string stored(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// Documents of a shard without files: values are inline bytes and fill patterns, as chunks of HDF5 that were never
/// written are.
Dataset filled_documents() {
  const std::vector<std::uint16_t> written{1, 2, 3}, pattern{7, 8, 9};  // a pattern of three tokens
  const std::string first = stored(written), repeated = stored(pattern);
  IndexBuilder builder;
  const std::uint32_t field = builder.field({.name = "tokens", .codec = "raw", .dtype = DType::u16});
  for (int document = 0; document < 2; ++document) {
    const auto bytes = bytes_of(first), again = bytes_of(repeated);
    const std::vector<Piece> pieces{
        {.kind = Piece::Kind::bytes, .length = first.size(), .inline_bytes = bytes},
        {.kind = Piece::Kind::fill, .length = 10 * sizeof(std::uint16_t), .inline_bytes = again}};
    builder.add_sample("d" + std::to_string(document));
    builder.set(field, pieces);
  }
  return Dataset("filled", "made", {{.index = std::move(builder).finish(), .root = {}, .name = "filled"}}, {}, false);
}

std::vector<std::uint16_t> tokens_of(const Dataset& blocks, std::uint64_t block) {
  const std::vector<std::byte> bytes = read_field(blocks, block, 0);
  std::vector<std::uint16_t> tokens(bytes.size() / 2);
  std::memcpy(tokens.data(), bytes.data(), bytes.size());
  return tokens;
}

/// `count` documents of 0 to 4 tokens in one file, uint8.
struct Corpus {
  explicit Corpus(std::uint64_t count) {
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> begins, bounds{0};
    std::string data;
    for (std::uint64_t i = 0; i < count; ++i) {
      begins.push_back(static_cast<std::int64_t>(data.size()));
      lengths.push_back(static_cast<std::int32_t>(i % 5));
      data.append(i % 5, static_cast<char>(i % 251));
      bounds.push_back(static_cast<std::int64_t>(i + 1));
    }
    write_file(folder / "c.bin", data);
    write_file(folder / "c.idx", std::string("MMIDIDX\0\0", 9) + stored<std::uint64_t>({1}) + '\x01' +
                                     stored<std::uint64_t>({count, count + 1}) + stored(lengths) + stored(begins) +
                                     stored(bounds));
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("fill patterns and inline bytes are cut anywhere") {
  const Dataset documents = filled_documents();
  std::vector<std::uint16_t> row;
  for (int document = 0; document < 2; ++document) {
    row.insert(row.end(), {1, 2, 3});
    for (int i = 0; i < 10; ++i) row.push_back(static_cast<std::uint16_t>(7 + i % 3));
  }
  for (const std::uint64_t length : {1U, 2U, 4U, 5U, 11U, 26U}) {
    const Dataset blocks = token_blocks(documents, length, {.pad = 5, .pad_last = true});
    std::vector<std::uint16_t> all;
    for (std::uint64_t block = 0; block < blocks.size(); ++block) {
      const auto own = tokens_of(blocks, block);
      CHECK(own.size() == length);
      all.insert(all.end(), own.begin(), own.end());
    }
    std::vector<std::uint16_t> wanted = row;
    wanted.resize((row.size() + length - 1) / length * length, 5);
    CHECK(all == wanted);
  }
}

TEST_CASE("tables and keys in temporary files, asked for by many threads, are those in memory") {
  const Corpus corpus(6'000'000);  // 24 MiB of numbers, and as much of keys
  const Dataset documents = open(corpus.folder / "c.idx");
  const Dataset blocks = token_blocks(documents, 7);
  REQUIRE(blocks.size() == 12'000'000 / 7);
  const std::string first(blocks.key(0));
  parallel_for(64, 4, [&](std::uint64_t item) {
    std::vector<Piece> pieces;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t block = (i * 977 + item) % blocks.size();
      const std::string key(blocks.key(block));
      if (!key.starts_with(first.substr(0, 7)) || std::stoull(key.substr(7)) != block) throw Error::corrupt(key);
      if (blocks.find(key) != block) throw Error::corrupt("not found: " + key);
      blocks.locate(block, 0, pieces);
      // Tokens lie one behind the other in the file, whatever the documents.
      if (pieces.size() != 1 || pieces[0].extent != Extent{.file = 0, .offset = 7 * block, .length = 7})
        throw Error::corrupt("block " + std::to_string(block));
    }
  });
}

TEST_CASE("a folder of temporary files that cannot be written is told") {
  const Corpus corpus(6'000'000);
  const Dataset documents = open(corpus.folder / "c.idx");
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", (corpus.folder / "absent").c_str(), 1);
  CHECK_THROWS_WITH_AS(token_blocks(documents, 7), doctest::Contains("absent"), Error);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_CASE("a loader delivers blocks as int64, and what is added as int32") {
  const Dataset blocks =
      token_blocks(filled_documents(), 8, {.packing = TokenPacking::best_fit, .positions = true, .cu_lengths = true});
  REQUIRE(blocks.fields().size() == 3);
  Loader loader(blocks, {.batch_size = 3, .workers = 1});
  const auto batch = loader.next();
  REQUIRE(batch);
  CHECK((*batch)["tokens"].values.dtype == DType::i64);
  CHECK((*batch)["tokens"].values.shape == Shape{3, 8});
  CHECK((*batch)["tokens"].as<std::int64_t>()[2] == 3);
  CHECK((*batch)["positions"].values.dtype == DType::i32);
  CHECK((*batch)["positions"].as<std::int32_t>()[7] == 7);
  CHECK((*batch)["cu_lengths"].values.dtype == DType::i32);
  CHECK((*batch)["cu_lengths"].values.shape[0] == 6);  // 0 8, 0 5, 0 8: the rests of 5 do not fit into one block
}

}  // namespace penstock::test::token_blocks_test
