#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/path_inside.hpp>
#include <formats/packed/shard_sum.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/resigned.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::index_hostile_test {

using namespace penstock::index_layout;

namespace {

constexpr std::uint64_t kHuge = (std::uint64_t{1} << 40) - 1;

const std::vector<std::string> kOutside{"/etc/passwd",
                                        "/",
                                        "../a.bin",
                                        "deep/../../a.bin",
                                        "deep/..",
                                        "..",
                                        ".",
                                        "",
                                        "deep//a.bin",
                                        "./a.bin",
                                        "deep/./a.bin",
                                        "deep/",
                                        std::string("a.bin\0", 6),
                                        std::string("..\0/a.bin", 9),
                                        std::string("\0", 1)};

// One sample: "raw" of fixed shape (3, 4) float32 from an extent and a fill pattern, "jpg" an extent, "txt" a slice of
// a deflated block.
std::vector<std::byte> honest() {
  IndexBuilder builder;
  builder.add_file({.path = "a.bin", .size = 1000, .stamp = 7});
  const std::uint32_t raw =
      builder.field({.name = "raw", .codec = "raw", .dtype = DType::f32, .shape = {3, 4}, .fixed = true});
  const std::uint32_t jpg = builder.field({.name = "jpg", .codec = "jpeg"});
  const std::uint32_t txt = builder.field({.name = "txt", .codec = "txt"});
  const std::uint32_t block =
      builder.add_block({.extent = {0, 100, 50}, .filters = {{Filter::Id::deflate, 0}}, .decoded_length = 96});
  builder.add_sample("one");
  builder.set(raw, std::vector{Piece{.kind = Piece::Kind::extent, .extent = {0, 5, 8}, .length = 8, .inline_bytes = {}},
                               Piece{.kind = Piece::Kind::fill, .length = 40, .inline_bytes = bytes_of("\1\2\3\4")}});
  builder.set(jpg, Extent{0, 10, 20});
  builder.set(txt, std::vector{Piece{
                       .kind = Piece::Kind::block, .block = block, .offset = 48, .length = 48, .inline_bytes = {}}});
  const Index index = std::move(builder).finish();
  return {index.bytes().begin(), index.bytes().end()};
}

std::string failure_of(const std::vector<std::byte>& bytes, std::uint32_t field) {
  try {
    const Index index = Index::from_bytes(bytes);
    std::vector<Piece> pieces;
    index.locate(0, field, pieces);
    return "";
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    return error.what();
  }
}

void set_length(Entry& entry, std::uint64_t length) {
  entry.length_low = static_cast<std::uint32_t>(length);
  entry.length_high = static_cast<std::uint8_t>(length >> 32);
}

}  // namespace

TEST_CASE("no length of an index is believed beyond what it is of") {
  const auto located = [](std::uint32_t field, const std::function<void(std::vector<std::byte>&)>& harm) {
    std::vector<std::byte> bytes = honest();
    harm(bytes);
    return failure_of(test::resigned(bytes), field);
  };
  for (std::uint32_t field = 0; field < 3; ++field) CHECK(located(field, [](auto&) {}) == "");

  const auto entry = [&](std::size_t number, const std::function<void(Entry&)>& harm) {
    return located(static_cast<std::uint32_t>(number),
                   [&](auto& bytes) { change<Entry>(test::section(bytes, SectionId::entries), number, harm); });
  };
  CHECK(entry(1, [](Entry& e) { set_length(e, 990); }) == "");
  CHECK(entry(1, [](Entry& e) { set_length(e, 991); }).find("ends outside its file") != std::string::npos);
  CHECK(entry(1, [](Entry& e) { set_length(e, kHuge); }).find("ends outside its file") != std::string::npos);
  CHECK(entry(1, [](Entry& e) { e.offset = UINT64_MAX - 3; }).find("ends outside its file") != std::string::npos);
  CHECK(entry(2, [](Entry& e) { set_length(e, 49); }).find("ends outside its block") != std::string::npos);
  CHECK(entry(2, [](Entry& e) { e.offset = UINT64_MAX - 3; }).find("ends outside its block") != std::string::npos);
  CHECK(entry(2, [](Entry& e) { e.number = 1; }).find("block number") != std::string::npos);
  CHECK(entry(0, [](Entry& e) { e.offset = UINT64_MAX; }).find("piece number") != std::string::npos);
  CHECK(entry(0, [](Entry& e) { e.number = UINT32_MAX; }).find("piece number") != std::string::npos);
  CHECK(entry(0, [](Entry& e) { set_length(e, 49); }).find("lengths of pieces") != std::string::npos);

  const auto piece = [&](std::size_t number, const std::function<void(PieceRecord&)>& harm) {
    return located(0, [&](auto& bytes) { change<PieceRecord>(test::section(bytes, SectionId::pieces), number, harm); });
  };
  CHECK(piece(0, [](PieceRecord& p) { p.length = 1000; }).find("ends outside its file") != std::string::npos);
  CHECK(piece(0, [](PieceRecord& p) { p.kind = 1, p.number = 0, p.offset = 90; }).find("ends outside its block") !=
        std::string::npos);
  CHECK(located(0,
                [](auto& bytes) {  // a fill of 2^40 bytes from four
                  change<PieceRecord>(test::section(bytes, SectionId::pieces), 1,
                                      [](PieceRecord& p) { p.length = kHuge - 8; });
                  change<Entry>(test::section(bytes, SectionId::entries), 0, [](Entry& e) { set_length(e, kHuge); });
                })
            .find("a fill value longer than the field's shape") != std::string::npos);
}

TEST_CASE("bytes behind an index, or fewer than it was written with, are not taken for it") {
  std::vector<std::byte> longer = honest(), shorter = honest();
  longer.push_back(std::byte{0});
  shorter.pop_back();
  for (const std::vector<std::byte>& bytes : {longer, shorter})
    CHECK(failure_of(test::resigned(bytes), 1).find("its length has changed") != std::string::npos);
}

TEST_CASE("a block of few bytes does not become more than its filters can make of them") {
  std::vector<std::byte> bytes = honest();
  change<BlockRecord>(test::section(bytes, SectionId::blocks), 0,
                      [](BlockRecord& block) { block.decoded_length = std::uint64_t{1} << 30; });
  change<Entry>(test::section(bytes, SectionId::entries), 2, [](Entry& e) { set_length(e, 1 << 29); });
  CHECK(failure_of(test::resigned(bytes), 2).find("decoded length of a block") != std::string::npos);
}

TEST_CASE("a shape whose bytes nobody can count is refused when the index is opened") {
  for (const std::int64_t side : {std::int64_t{-1}, std::int64_t{1} << 40, INT64_MAX}) {
    std::vector<std::byte> bytes = honest();
    std::memcpy(test::section(bytes, SectionId::fields).data() + sizeof(FieldRecord), &side, sizeof(side));
    CHECK_THROWS_WITH_AS(Index::from_bytes(test::resigned(bytes)), doctest::Contains("shape of a field"), Error);
  }
}

TEST_CASE("an index that gives a file more bytes than it has takes no memory for them") {
  const TemporaryFolder folder;
  write_file(folder / "a.bin", std::string(1000, 'x'));
  std::vector<std::byte> bytes = honest();
  change<FileRecord>(test::section(bytes, SectionId::files), 0, [](FileRecord& file) { file.size = 1ULL << 50; });
  change<Entry>(test::section(bytes, SectionId::entries), 1, [](Entry& entry) { set_length(entry, kHuge); });
  change<BlockRecord>(test::section(bytes, SectionId::blocks), 0, [](BlockRecord& block) {
    block.length = 1ULL << 39;
    block.decoded_length = 1ULL << 41;
  });
  change<Entry>(test::section(bytes, SectionId::entries), 2, [](Entry& entry) { set_length(entry, kHuge - 48); });
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = Index::from_bytes(test::resigned(bytes)), .root = folder.path(), .name = "a.bin"});
  const Dataset dataset("hostile", "tar", std::move(shards), {}, false);
  std::vector<Piece> pieces;
  for (const std::uint32_t field : {1U, 2U}) {
    CHECK_THROWS_WITH_AS(dataset.locate(0, field, pieces), doctest::Contains("a file of 1000"), Error);
  }
  CHECK_THROWS_WITH_AS(dataset.block(0), doctest::Contains("a file of 1000"), Error);
  CHECK_THROWS_WITH_AS(read_field(dataset, 0, 1), doctest::Contains("hostile: a.bin: sample one: field jpg"), Error);
}

TEST_CASE("what of paths stays inside the dataset by its spelling, and is visible there") {
  for (const std::string& path : kOutside) {
    CAPTURE(path);
    CHECK_FALSE(is_inside(path));
    CHECK_FALSE(is_inside_and_visible(path));
    CHECK_THROWS_WITH_AS(path_inside("data", path), doctest::Contains("outside the dataset"), Error);
  }
  for (const std::string path : {"a", "deep/a.bin", "..a", "a..", "...", "deep/.../a", ".hidden", "deep/.hidden/a"}) {
    CAPTURE(path);
    CHECK(is_inside(path));
    CHECK(is_inside_and_visible(path) == (path.front() != '.' && path.find("/.") == std::string::npos));
    CHECK(path_inside("data", path) == "data/" + path);
  }
}

TEST_CASE("a shard that names a file outside its folder is not summed up") {
  const TemporaryFolder folder;
  write_file(folder / "a.bin", std::string(100, 'x'));
  write_file(folder / "set" / "a.bin", std::string(100, 'x'));
  const auto describe = [&](const std::string& path) {
    IndexBuilder builder;
    builder.add_file({.path = path, .size = 100, .stamp = 0});
    return describe_shard(folder / "set", "a.bin", std::move(builder).finish());
  };
  CHECK(describe("a.bin").bytes == 100);
  CHECK_THROWS_WITH_AS(describe("../a.bin"), doctest::Contains("outside the dataset"), Error);
  CHECK_THROWS_WITH_AS(describe((folder / "a.bin").string()), doctest::Contains("outside the dataset"), Error);
}

TEST_CASE("an index on disk names no file outside its dataset") {
  for (const std::string& path : kOutside) {
    CAPTURE(path);
    const TemporaryFolder folder;
    IndexBuilder builder;
    builder.add_file({.path = path, .size = 100, .stamp = 0});
    builder.add_sample("one");
    builder.set(builder.field({.name = "bin", .codec = ""}), Extent{0, 0, 10});
    const Index made = std::move(builder).finish();
    CHECK(made.file(0).path == path);  // of this process itself: a writer's own files lie anywhere
    write_file(folder / "a.idx", test::text_of(made.bytes()));
    const Index index = Index::open(folder / "a.idx");
    CHECK_THROWS_WITH_AS(index.file(0), doctest::Contains("outside the dataset"), Error);
  }
}

}  // namespace penstock::test::index_hostile_test
