// Tests Megatron-LM's .bin and .idx files, well-formed and not; tests/python/test_tokens.py has each damage by itself.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/megatron/megatron.hpp>
#include <penstock/error.hpp>

#include "support/survive.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::megatron_test {
namespace {

template <typename Number>
std::string stored(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// Three documents of uint16: two sequences that follow each other, none, two sequences apart.
struct Corpus {
  Corpus() {
    bytes = std::string("MMIDIDX\0\0", 9) + stored<std::uint64_t>({1}) + '\x08' + stored<std::uint64_t>({4, 4}) +
            stored<std::int32_t>({3, 2, 1, 2}) + stored<std::int64_t>({0, 6, 12, 4}) +
            stored<std::int64_t>({0, 2, 2, 4});
    write_file(idx, bytes);
    write_file(folder / "corpus.bin", data);
  }
  Index index() const { return kMegatron.index(idx, folder.path(), {}); }

  TemporaryFolder folder;
  std::filesystem::path idx = folder / "corpus.idx";
  std::string bytes, data = "aabbccddeeffgg";
};

}  // namespace

TEST_CASE("documents are the extents of their sequences, and neighbours are one") {
  const Corpus corpus;
  const Index index = corpus.index();
  REQUIRE(index.size() == 3);
  CHECK(index.fields()[0] == FieldSchema{.name = "tokens", .codec = "tokens", .dtype = DType::u16});
  CHECK(index.key(2).ends_with("/2"));
  std::vector<Piece> pieces;
  REQUIRE(index.locate(0, 0, pieces));
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].extent == Extent{.file = 0, .offset = 0, .length = 10});
  REQUIRE(index.locate(1, 0, pieces));
  CHECK(index.length(1, 0) == 0);
  REQUIRE(index.locate(2, 0, pieces));
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].extent == Extent{.file = 0, .offset = 12, .length = 2});
  CHECK(pieces[1].extent == Extent{.file = 0, .offset = 4, .length = 4});
}

TEST_CASE("files that are cut anywhere, or have bytes changed, are read or refused") {
  const Corpus corpus;
  const std::filesystem::path root = corpus.folder.path();
  survive_cuts(kMegatron, corpus.idx, corpus.bytes, corpus.idx, root);
  survive_flips(kMegatron, corpus.idx, corpus.bytes, corpus.idx, root, 3000);
  survive_cuts(kMegatron, corpus.folder / "corpus.bin", corpus.data, corpus.idx, root);
}

TEST_CASE("other files of these names are left to other packings") {
  const Corpus corpus;
  CHECK(kMegatron.find_shards(corpus.folder.path()).size() == 1);
  CHECK(kMegatron.find_shards(corpus.folder / "corpus.bin") == std::vector{corpus.idx});
  write_file(corpus.folder / "other.idx", "0 1\n");
  CHECK(kMegatron.find_shards(corpus.folder.path()).empty());
  CHECK(kMegatron.find_shards(corpus.folder / "other.idx").empty());
  CHECK(kMegatron.find_shards(corpus.folder / "other.bin").empty());
}

TEST_CASE("the common name of both files opens them, and data without an index are refused by the index's name") {
  const Corpus corpus;
  const Dataset dataset = open(corpus.folder / "corpus");
  CHECK(dataset.size() == open(corpus.idx).size());
  CHECK(dataset.fingerprint() == open(corpus.idx).fingerprint());
  std::filesystem::remove(corpus.folder / "corpus.bin");
  CHECK_THROWS_WITH_AS(open(corpus.folder / "corpus"), doctest::Contains("corpus.bin"), Error);
  CHECK_THROWS_WITH_AS(open(corpus.folder / "absent"), doctest::Contains("cannot open"), Error);
  write_file(corpus.folder / "other.bin", "tokens");
  CHECK_THROWS_WITH_AS(open(corpus.folder / "other.bin"), doctest::Contains("put its index \"other.idx\" beside it"),
                       Error);
  std::filesystem::create_directory(corpus.folder / "corpus");  // a folder of this name goes first
  CHECK_THROWS_WITH_AS(open(corpus.folder / "corpus"), doctest::Contains("is an empty folder"), Error);
}

}  // namespace penstock::test::megatron_test
