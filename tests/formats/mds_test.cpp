// Tests shards as mosaicml-streaming writes them, well-formed and not; they are laid out by hand here.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/filters/zstd.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/mds/mds.hpp>
#include <formats/text/numpy_text.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/random_samples.hpp"
#include "support/skip.hpp"
#include "support/survive.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::mds_test {
namespace {

std::string number(std::uint64_t value, int bytes = 4) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

struct Column {
  std::string name, encoding;
  std::optional<unsigned> size = {};
};
using Fields = std::map<std::string, std::string>;
using Samples = std::vector<std::vector<std::string>>;

std::string shard_of(const std::vector<Column>& columns, const Samples& samples) {
  std::string body, offsets;
  const std::size_t begin = 4 + 4 * (samples.size() + 1) + 2;
  for (const auto& values : samples) {
    offsets += number(begin + body.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].size) body += number(values[i].size());
    }
    for (const std::string& value : values) body += value;
  }
  return number(samples.size()) + offsets + number(begin + body.size()) + "{}" + body;
}

std::string index_json(const std::vector<Column>& columns, std::size_t samples, std::size_t bytes,
                       const std::string& compression = "null", const std::string& zip = "null") {
  std::string names, encodings, sizes;
  for (const Column& column : columns) {
    const std::string comma = names.empty() ? "" : ",";
    names += comma + '"' + column.name + '"';
    encodings += comma + '"' + column.encoding + '"';
    sizes += comma + (column.size ? std::to_string(*column.size) : "null");
  }
  return R"({"shards":[{"column_encodings":[)" + encodings + R"(],"column_names":[)" + names + R"(],"column_sizes":[)" +
         sizes + R"(],"compression":)" + compression +
         R"(,"format":"mds","hashes":[],"raw_data":{"basename":"s.mds","bytes":)" + std::to_string(bytes) +
         R"(,"hashes":{}},"samples":)" + std::to_string(samples) + R"(,"size_limit":1000,"version":2,"zip_data":)" +
         zip + R"(}],"version":2})";
}

struct Made {
  Made(const std::vector<Column>& columns, const Samples& samples)
      : shard(shard_of(columns, samples)), json(index_json(columns, samples.size(), shard.size())) {
    test::write_file(folder / "s.mds", shard);
    test::write_file(folder / "index.json", json);
  }
  Index index() const { return kMds.index(folder.path(), folder.path(), {}); }
  std::map<std::string, Fields> read() const { return test::all_fields(index(), folder.path()); }

  TemporaryFolder folder;
  std::string shard, json;
};

const std::vector<Column> kColumns{{"__key__", "str"},
                                   {"any", "ndarray"},
                                   {"blob", "bytes"},
                                   {"digits", "str_int"},
                                   {"fixed", "ndarray:int16:2", 4},
                                   {"id", "int", 8},
                                   {"object", "pkl"},
                                   {"typed", "ndarray:uint8"}};
const Samples kSamples{
    {"k0", std::string("\x08\x04\x03", 3) + "abc", "blob", "7", "wxyz", "12345678", "\x80 pickled",
     std::string("\x04\x02", 2) + "hi"},
    {"k1", std::string("\x11\x09\x02\0\x01\0\1\2\3\4", 10), "", "-1", "WXYZ", "87654321", "", "\x04\x01!"}};

}  // namespace

TEST_CASE("columns are fields, by what their encodings make of the bytes") {
  const Made made(kColumns, kSamples);
  const auto read = made.read();
  CHECK(read.at("k0") == Fields{{"any", npy_header_text(DType::u8, {3}) + "abc"},
                                {"blob", "blob"},
                                {"digits", "7"},
                                {"fixed", "wxyz"},
                                {"id", "12345678"},
                                {"object", "\x80 pickled"},
                                {"typed", npy_header_text(DType::u8, {2}) + "hi"}});
  CHECK(read.at("k1").at("any") == npy_header_text(DType::i16, {2, 1}) + std::string("\1\2\3\4", 4));
  CHECK(read.at("k1").at("typed") == npy_header_text(DType::u8, {1}) + "!");
}

TEST_CASE("samples without a key are numbered, and schemas are those of the encodings") {
  const Made made({{"id", "int", 8}, {"photo", "jpeg"}}, Samples(11, {"12345678", "x"}));
  const Index index = made.index();
  REQUIRE(index.size() == 11);
  CHECK(index.key(3) == "03");
  CHECK(index.fields()[0] ==
        FieldSchema{.name = "id", .codec = "raw", .dtype = DType::i64, .shape = {}, .fixed = true});
  CHECK(index.fields()[1].codec == "jpeg");
}

TEST_CASE("a shard of which only the zstd file is there is one block for all its samples") {
  const Made made({{"name", "str"}}, {{"one"}, {"two"}});
  // A frame with one raw block. Source: RFC 8878, sections 3.1.1.1 and 3.1.1.2.
  const std::string frame = std::string("\x28\xB5\x2F\xFD\xA0", 5) + number(made.shard.size()) +
                            number(made.shard.size() << 3 | 1, 3) + made.shard;
  std::filesystem::remove(made.folder / "s.mds");
  test::write_file(made.folder / "s.mds.zstd", frame);
  const auto with = [&](const std::string& compression, std::size_t bytes) {
    test::write_file(made.folder / "index.json", index_json({{"name", "str"}}, 2, bytes, '"' + compression + '"',
                                                            R"({"basename":"s.mds.zstd","bytes":1,"hashes":{}})"));
  };
  with("br:3", made.shard.size());
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("compressed by br:3"), Error);
  with("zstd:3", made.shard.size());
  if (!zstd_is_linked()) {
    CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("libzstd-dev"), Error);
    return;
  }
  CHECK(made.read().at("1") == Fields{{"name", "two"}});
  CHECK(made.index().block_count() == 1);
  test::survive_cuts(kMds, made.folder / "s.mds.zstd", frame, made.folder.path(), made.folder.path());
  with("zstd", made.shard.size() + 1);
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("does not hold"), Error);
  with("zstd", std::size_t{1} << 40);
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("more than its"), Error);
}

TEST_CASE("an index that leads outside the folder, or to other formats, is refused") {
  const Made made({{"name", "str"}}, {{"one"}});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = made.json;
    changed.replace(changed.find(from), from.size(), to);
    test::write_file(made.folder / "index.json", changed);
  };
  with("s.mds", "../s.mds");
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("outside the folder"), Error);
  with("s.mds", "gone.mds");
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("gone.mds"), Error);
  with("\"mds\"", "\"csv\"");
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("only mds"), Error);
  with("\"samples\":1", "\"samples\":2");
  CHECK_THROWS_WITH_AS(made.index(), doctest::Contains("has 1 samples, index.json says 2"), Error);
}

TEST_CASE("a folder with an index of MDS shards, or that index, is a dataset") {
  const Made made({{"name", "str"}}, {{"one"}});
  using Paths = std::vector<std::filesystem::path>;
  CHECK(kMds.find_shards(made.folder.path()) == Paths{made.folder.path()});
  CHECK(kMds.find_shards(made.folder / "index.json") == Paths{made.folder.path()});
  test::write_file(made.folder / "index.json", "{}");
  CHECK(kMds.find_shards(made.folder.path()).empty());
}

TEST_CASE("a shard or index cut anywhere, or with bytes changed, is read or refused") {
  const Made made(kColumns, kSamples);
  const auto root = made.folder.path();
  test::survive_cuts(kMds, made.folder / "s.mds", made.shard, root, root);
  test::survive_flips(kMds, made.folder / "s.mds", made.shard, root, root, 2000);
  test::survive_cuts(kMds, made.folder / "index.json", made.json, root, root);
  test::survive_flips(kMds, made.folder / "index.json", made.json, root, root, 1500);
}

TEST_CASE("what was packed reads back byte for byte, from the writer's index and through index.json") {
  const TemporaryFolder folder;
  const auto samples = test::random_samples(40, 9);
  const auto fields = test::random_sample_fields();
  const auto writer = kMds.write(folder / "s.mds", {.fields = fields, .align = 1});
  const Index written = test::write_samples(*writer, fields, samples);
  const std::vector<std::string> names{"s.mds"};
  kMds.complete(folder.path(), names);
  const Index scanned = kMds.index(folder.path(), folder.path(), {});
  const auto read = test::all_fields(written, folder.path()), again = test::all_fields(scanned, folder.path());
  REQUIRE(read.size() == samples.size());
  for (const auto& sample : samples) {
    CHECK(read.at(sample.key) == sample.fields);
    for (const auto& [name, bytes] : sample.fields) CHECK(again.at(sample.key).at(name) == bytes);
  }
  CHECK(written.crc32c(0, 0) == crc32c(test::bytes_of(samples[0].fields.at("jpg"))));
  CHECK(written.file(0) == scanned.file(0));
}

TEST_CASE("a column has the encoding that all its values in the shard allow") {
  const TemporaryFolder folder;
  const std::vector<FieldSchema> fields{
      {.name = "cls", .codec = "cls"},
      {.name = "txt", .codec = "txt"},
      {.name = "box", .codec = "raw", .dtype = DType::f32, .shape = {2}, .fixed = true},
      {.name = "age", .codec = "raw", .dtype = DType::f64, .shape = {}, .fixed = true}};
  const auto encodings = [&](const std::vector<test::MadeSample>& samples) {
    std::filesystem::remove(folder / "s.mds");
    test::write_samples(*kMds.write(folder / "s.mds", {.fields = fields, .align = 1}), fields, samples);
    const std::string bytes = test::read_file(folder / "s.mds");
    const std::size_t begin = bytes.find("\"column_encodings\":[") + 20;
    return bytes.substr(begin, bytes.find(']', begin) - begin);
  };
  const Fields good{{"cls", "-7"}, {"txt", "\xC3\xA4"}, {"box", "12345678"}, {"age", "12345678"}};
  CHECK(encodings({{"k", good}}) == R"("str","float64","ndarray:float32:2","str_int","str")");
  CHECK(encodings({{"k", good}, {"l", {{"cls", "cat"}, {"txt", "\xFF"}, {"box", "x"}}}}) ==
        R"("str","bytes","bytes","bytes","bytes")");
  CHECK_THROWS_AS(kMds.write(folder / "t.mds", {.fields = {{.name = "__key__", .codec = ""}}, .align = 1}), Error);
}

TEST_CASE("real datasets of mosaicml-streaming are read") {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  const std::filesystem::path root = std::filesystem::path(data == nullptr ? "" : data) / "mds";
  if (!std::filesystem::is_directory(root)) {
    penstock::test::skip("no test data in PENSTOCK_TEST_DATA/mds");
    return;
  }
  std::size_t read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "index.json") continue;
    const auto folder = entry.path().parent_path();
    CHECK(kMds.find_shards(folder).size() == 1);
    CHECK(test::reads_or_refuses(kMds, folder, folder));
    ++read;
  }
  CHECK(read == 4);
}

TEST_CASE("an index of shards is looked at again when one of their files changes, and its stamp tells their lengths") {
  const TemporaryFolder folder;
  const std::string index =
      R"({"shards": [{"column_encodings": ["bytes"], "column_names": ["a"], "column_sizes": [null], "compression": null, )"
      R"("format": "mds", "hashes": [], "raw_data": {"basename": "shard.00000.mds", "bytes": 4, "hashes": {}}, )"
      R"("samples": 0, "size_limit": null, "version": 2, "zip_data": null}], "version": 2})";
  test::write_file(folder / "index.json", index);
  test::write_file(folder / "shard.00000.mds", "1234");
  CHECK(kMds.watched(folder.path()) ==
        std::vector<std::filesystem::path>{folder / "index.json", folder / "shard.00000.mds"});
  const std::uint64_t stamp = kMds.stamp(folder.path());
  CHECK(kMds.stamp(folder.path()) == stamp);
  test::write_file(folder / "shard.00000.mds", "12345");
  CHECK(kMds.stamp(folder.path()) != stamp);
  test::write_file(folder / "shard.00000.mds", "1234");
  test::write_file(folder / "index.json", index + " ");
  CHECK(kMds.stamp(folder.path()) != stamp);
}

}  // namespace penstock::test::mds_test
