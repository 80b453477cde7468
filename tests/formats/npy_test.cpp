// Tests arrays as NumPy writes them, well-formed and not.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/index/row_limit.hpp>
#include <formats/npy/npy.hpp>
#include <formats/text/numpy_text.hpp>
#include <formats/zip/zip.hpp>
#include <penstock/error.hpp>

#include "support/expected_files.hpp"
#include "support/field_bytes.hpp"
#include "support/survive.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::npy_test {
namespace {

struct File {
  explicit File(const std::string& content, const char* name = "x.npy") : path(folder / name), bytes(content) {
    test::write_file(path, bytes);
  }
  Index index() const { return kNpy.index(path, folder.path(), {}); }
  std::optional<Error> failure() const {
    try {
      index();
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  TemporaryFolder folder;
  std::filesystem::path path;
  std::string bytes;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("rows are extents of one field of fixed dtype and shape, their keys the rows' numbers") {
  const File file(npy_header_text(DType::u16, {12, 2}) + std::string(48, 'x') + "behind the array");
  const Index index = file.index();
  REQUIRE(index.size() == 12);
  CHECK(index.key(3) == "03");
  CHECK(index.fields()[0] ==
        FieldSchema{.name = "value", .codec = "raw", .dtype = DType::u16, .shape = {2}, .fixed = true});
  std::vector<Piece> pieces;
  REQUIRE(index.locate(3, 0, pieces));
  CHECK(pieces.at(0).extent == Extent{0, npy_header_text(DType::u16, {12, 2}).size() + 12, 4});
}

TEST_CASE("single values by the hundred million are refused with their count, before an index is made of them") {
  constexpr std::int64_t kRows = 400'000'000;
  const std::string header = npy_header_text(DType::u8, {kRows});
  const File file(header);
  std::filesystem::resize_file(file.path, header.size() + kRows);  // no bytes on disk
  const std::optional<Error> failure = file.failure();
  REQUIRE(failure);
  CHECK(failure->kind() == ErrorKind::unsupported);
  CHECK(failure->context().shard == "x.npy");
  CHECK(failure->cause().find("400000000 rows would need an index of 16400 MB for a file of 400 MB") !=
        std::string::npos);
}

TEST_CASE("an index may take 4 GiB, or as much as the file itself") {
  constexpr std::uint64_t kMega = 1'000'000, kRow = 8 + 9 + 24;  // place and text of the key, and a field
  constexpr std::uint64_t kMost = (std::uint64_t{4} << 30) / kRow;
  CHECK_NOTHROW(require_row_limit(kMost, 1, 400 * kMega));
  CHECK_THROWS_AS(require_row_limit(kMost + 1, 1, 400 * kMega), Error);
  CHECK_THROWS_AS(require_row_limit(kMost, 2, 400 * kMega), Error);
  CHECK_NOTHROW(require_row_limit(400 * kMega, 1, 400 * kMega * kRow));
  CHECK_THROWS_AS(require_row_limit(400 * kMega, 1, 400 * kMega * kRow - 1), Error);
  CHECK_THROWS_AS(require_row_limit(~std::uint64_t{0}, 3, 400 * kMega), Error);
}

TEST_CASE("big-endian rows are swapped, one-dimensional arrays are scalars, no rows are no samples") {
  const std::string header = replaced(npy_header_text(DType::i32, {2}), "<i4", ">i4");
  const File file(header + std::string("\1\2\3\4\5\6\7\10", 8));
  CHECK(test::field_bytes(file.index(), file.folder.path(), 1, 0) == "\10\7\6\5");
  CHECK(file.index().fields()[0].shape.empty());
  CHECK(File(npy_header_text(DType::f32, {0, 5})).index().size() == 0);
}

TEST_CASE("rows of an array in Fortran order are slices of a block that holds it in C order") {
  const std::string header = replaced(npy_header_text(DType::u16, {2, 3}), "False", "True ");
  const File file(header + "aabbccddeeff" + "behind the array");
  CHECK(test::field_bytes(file.index(), file.folder.path(), 0, 0) == "aaccee");
  CHECK(test::field_bytes(file.index(), file.folder.path(), 1, 0) == "bbddff");
  CHECK(File(header + "aabbccddeef").failure()->kind() == ErrorKind::corrupt);
  const File big(replaced(header, "<u2", ">u2") + "abcdefghijkl");
  CHECK(test::field_bytes(big.index(), big.folder.path(), 1, 0) == "dchglk");
  test::survive_cuts(kNpy, file.path, file.bytes, file.path, file.folder.path());
  test::survive_flips(kNpy, file.path, file.bytes, file.path, file.folder.path(), 2000);
}

TEST_CASE("what has no rows, or none of plain numbers, is unsupported and says why") {
  const std::string plain = npy_header_text(DType::f32, {2, 2}), data(16, '\0');
  for (const auto& [bytes, text] :
       std::vector<std::pair<std::string, std::string>>{{npy_header_text(DType::f32, {}) + data, "scalar"},
                                                        {npy_header_text(DType::f32, {5, 0}), "rows of 0 bytes"},
                                                        {replaced(plain, "'<f4'", "'|O' ") + data, "'|O'"}}) {
    const auto error = File(bytes).failure();
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported);
    CHECK(error->context().shard == "x.npy");
    CHECK(error->context().offset == 0);
    CHECK_MESSAGE(error->cause().find(text) != std::string::npos, std::string(error->what()));
  }
  CHECK(File(plain + std::string(15, '\0')).failure()->kind() == ErrorKind::corrupt);
  CHECK(File(replaced(plain, "(2, 2)", "(1<<9)")).failure()->kind() == ErrorKind::corrupt);
  CHECK(File(npy_header_text(DType::u8, {INT64_MAX})).failure()->kind() == ErrorKind::corrupt);
}

TEST_CASE("a file cut anywhere, or with bytes changed, is read or refused") {
  const File file(npy_header_text(DType::u16, {12, 2}) + std::string(48, 'x'));
  test::survive_cuts(kNpy, file.path, file.bytes, file.path, file.folder.path());
  test::survive_flips(kNpy, file.path, file.bytes, file.path, file.folder.path(), 2000);
}

TEST_CASE("arrays in an archive are fields where they have the rows that most have, others are named") {
  const TemporaryFolder folder;
  const std::vector<FieldSchema> fields{{.name = "npy", .codec = "npy"}};
  const auto writer = kZip.write(folder / "x.npz", {.fields = fields, .align = 1});
  const std::vector<std::pair<std::string, std::string>> arrays{
      {"images", npy_header_text(DType::u8, {3, 4}) + "aaaabbbbcccc"},
      {"labels", npy_header_text(DType::u8, {3}) + "123"},
      {"mean", npy_header_text(DType::u8, {2}) + "xy"},
      {"objects", replaced(npy_header_text(DType::f32, {3}), "'<f4'", "'|O' ")}};
  for (const auto& [name, bytes] : arrays) {
    const FieldValue value{.field = 0, .bytes = test::bytes_of(bytes), .crc32c = 0, .header = {}};
    writer->add(name, {&value, 1});
  }
  writer->finish();
  const Index index = kNpy.index(folder / "x.npz", folder.path(), {});
  const auto read = test::all_fields(index, folder.path());
  REQUIRE(read.size() == 3);
  CHECK(read.at("1") == std::map<std::string, std::string>{{"images", "bbbb"}, {"labels", "2"}});
  CHECK(index.attributes().find("\"mean\":\"2 rows, but the number of samples is 3\"") != std::string::npos);
  CHECK(index.attributes().find("\"objects\":") != std::string::npos);
  CHECK(kNpy.find_shards(folder / "x.npz").size() == 1);
  CHECK(kNpy.find_shards(folder.path()).empty());

  const std::string bytes = test::read_file(folder / "x.npz");
  test::survive_cuts(kNpy, folder / "x.npz", bytes, folder / "x.npz", folder.path());
  test::survive_flips(kNpy, folder / "x.npz", bytes, folder / "x.npz", folder.path(), 2000);
}

TEST_CASE("real arrays have the rows that NumPy finds, or are refused") {
  const auto files = test::expected_files("npy/");
  if (files.empty()) return;
  std::size_t read = 0;
  for (const test::ExpectedFile& file : files) {
    CAPTURE(file.name);
    const std::filesystem::path& path = file.path;
    if (!test::reads_or_refuses(kNpy, path, path.parent_path())) continue;
    const std::string rows = std::to_string(kNpy.index(path, path.parent_path(), {}).size());
    CHECK((file.facts.find("shape=[" + rows + ",") != std::string::npos ||
           file.facts.find("shape=[" + rows + "]") != std::string::npos));
    ++read;
  }
  CHECK(read >= 30);
}

}  // namespace penstock::test::npy_test
