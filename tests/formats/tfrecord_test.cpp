// Tests records as other programs write them, well-formed and not; messages are laid out by hand here.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/text/numpy_text.hpp>
#include <formats/tfrecord/example.hpp>
#include <formats/tfrecord/frames.hpp>
#include <formats/tfrecord/tfrecord.hpp>
#include <penstock/error.hpp>

#include "support/expected_files.hpp"
#include "support/field_bytes.hpp"
#include "support/random_samples.hpp"
#include "support/survive.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::tfrecord_test {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string field(unsigned tag, const std::string& value) {
  return varint(tag << 3 | 2) + varint(value.size()) + value;
}

std::string frame(const std::string& record) {
  const std::string length = number(record.size(), 8);
  return length + number(masked_crc32c(crc32c(bytes_of(length))), 4) + record +
         number(masked_crc32c(crc32c(bytes_of(record))), 4);
}

std::string strings(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += field(1, value);
  return field(1, list);
}

std::string floats(const std::vector<float>& values, bool packed = true) {
  std::string list;
  for (const float& value : values) {
    const std::string bytes(reinterpret_cast<const char*>(&value), 4);
    list += packed ? bytes : varint(1 << 3 | 5) + bytes;
  }
  return field(2, packed ? field(1, list) : list);
}

std::string ints(const std::vector<std::int64_t>& values, bool packed = true) {
  std::string list;
  for (const std::int64_t value : values) {
    const std::string bytes = varint(static_cast<std::uint64_t>(value));
    list += packed ? bytes : varint(1 << 3) + bytes;
  }
  return field(3, packed ? field(1, list) : list);
}

std::string example(const std::vector<std::pair<std::string, std::string>>& features) {
  std::string map;
  for (const auto& [name, feature] : features) map += field(1, field(1, name) + field(2, feature));
  return field(1, map);
}

template <typename T>
std::string npy(DType dtype, const std::vector<T>& values) {
  return npy_header_text(dtype, {static_cast<std::int64_t>(values.size())}) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

using Fields = std::map<std::string, std::string>;

struct Shard {
  explicit Shard(const std::vector<std::string>& records) {
    for (const std::string& record : records) bytes += frame(record);
    test::write_file(path, bytes);
  }
  Index index() const { return kTfrecord.index(path, folder.path(), {}); }
  std::map<std::string, Fields> read() const { return test::all_fields(index(), folder.path()); }
  std::string codec(const std::string& name) const {
    const Index indexed = index();
    for (const FieldSchema& schema : indexed.fields()) {
      if (schema.name == name) return schema.codec;
    }
    return "no such field";
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "train.tfrecord-00000-of-00002";
  std::string bytes;
};

}  // namespace

TEST_CASE("byte strings lie in place, one int is a class number, lists of numbers are arrays") {
  const std::vector<float> weights{0.5F, -1.0F};
  const std::vector<std::int64_t> few{1, -2, 3}, many{1, 2, 300, -4, 5, 6, 70'000, 8, 9, INT64_MIN};
  const Shard shard({example({{"image/encoded", strings({"\xFF\xD8 photo"})},
                              {"label", ints({7})},
                              {"txt", strings({""})},
                              {"weights", floats(weights)},
                              {"few", ints(few)},
                              {"many", ints(many)}}),
                     example({{"__key__", strings({"b/second"})},
                              {"label", ints({-1})},
                              {"weights", floats(weights, false)},
                              {"few", ints({4}, false)},
                              {"many", ints({}, true)}})});
  const auto read = shard.read();
  CHECK(read.at("train-00000-of-00002/00000000") == Fields{{"image/encoded", "\xFF\xD8 photo"},
                                                           {"label", "7"},
                                                           {"txt", ""},
                                                           {"weights", npy(DType::f32, weights)},
                                                           {"few", npy(DType::i64, few)},
                                                           {"many", npy(DType::i64, many)}});
  CHECK(read.at("b/second") == Fields{{"label", "-1"},
                                      {"weights", npy(DType::f32, weights)},
                                      {"few", npy<std::int64_t>(DType::i64, {4})},
                                      {"many", npy<std::int64_t>(DType::i64, {})}});
  CHECK(shard.codec("label") == "cls");
  CHECK(shard.codec("txt") == "txt");
  CHECK(shard.codec("few") == "npy");
  CHECK(shard.codec("image/encoded").empty());
  CHECK(shard.index().block_count() == 1);  // of `many`; the rest is extents, or kept in the index
}

TEST_CASE("a feature that changes its kind from record to record becomes what holds all of them") {
  const Shard shard({example({{"a", ints({1})}, {"b", ints({1})}, {"c", strings({"x"})}}),
                     example({{"a", ints({1, 2})}, {"b", floats({1.5F})}, {"c", ints({3})}})});
  const auto read = shard.read();
  const Fields first = read.at("train-00000-of-00002/00000000"), second = read.at("train-00000-of-00002/00000001");
  CHECK(first.at("a") == npy<std::int64_t>(DType::i64, {1}));
  CHECK(second.at("a") == npy<std::int64_t>(DType::i64, {1, 2}));
  CHECK(first.at("b") == npy<std::int64_t>(DType::i64, {1}));
  CHECK(second.at("b") == npy<float>(DType::f32, {1.5F}));
  CHECK(first.at("c") == "x");
  CHECK(second.at("c") == npy<std::int64_t>(DType::i64, {3}));
  CHECK(shard.codec("a") == "npy");
  CHECK(shard.codec("c").empty());
}

TEST_CASE("several strings are a JSON list, also where there is one, and features without a value are absent") {
  const Shard shard(
      {example({{"tags", strings({"a", "caf\xC3\xA9 \"b\""})}, {"empty", strings({})}, {"none", ""}, {"x", ints({1})}}),
       example({{"tags", strings({"c"})}, {"x", ints({2})}}), example({{"tags", strings({})}, {"x", ints({3})}}),
       example({{"tags", strings({"", ""})}, {"x", ints({4})}})});
  const auto read = shard.read();
  CHECK(read.at("train-00000-of-00002/00000000") == Fields{{"tags", "[\"a\",\"caf\xC3\xA9 \\\"b\\\"\"]"}, {"x", "1"}});
  CHECK(read.at("train-00000-of-00002/00000001") == Fields{{"tags", "[\"c\"]"}, {"x", "2"}});
  CHECK(read.at("train-00000-of-00002/00000002") == Fields{{"x", "3"}});
  CHECK(read.at("train-00000-of-00002/00000003") == Fields{{"tags", "[\"\",\"\"]"}, {"x", "4"}});
  CHECK(shard.codec("tags") == "json");
  CHECK(shard.index().attributes().find("left_out") == std::string::npos);
}

TEST_CASE("one string before the first list is a list, too") {
  const Shard shard({example({{"tags", strings({"a"})}}), example({{"tags", strings({"b", "c"})}})});
  CHECK(shard.read().at("train-00000-of-00002/00000000") == Fields{{"tags", "[\"a\"]"}});
  CHECK(shard.codec("tags") == "json");
}

TEST_CASE("several strings that are not UTF-8 are left out and named, and single ones keep their bytes") {
  const std::string photo = "\xFF\xD8 photo";
  const Shard shard({example({{"views", strings({photo, "b"})}, {"x", ints({1})}}),
                     example({{"views", strings({photo})}, {"x", ints({2})}})});
  CHECK(shard.read().at("train-00000-of-00002/00000000") == Fields{{"x", "1"}});
  CHECK(shard.read().at("train-00000-of-00002/00000001") == Fields{{"views", photo}, {"x", "2"}});
  const std::string left_out(shard.index().attributes());
  CHECK(left_out.find(R"(\\xff\\xd8 photo\" is not UTF-8)") != std::string::npos);
  CHECK(left_out.find("(in 1 record)") != std::string::npos);
}

TEST_CASE("a record that is no Example is one field, whole") {
  const std::string sequence = example({{"x", ints({1})}}) + field(2, "feature lists");
  const Shard shard({"plain text", "", sequence, std::string("\x0A\x00", 2)});
  const Index index = shard.index();
  REQUIRE(index.size() == 4);
  CHECK(test::field_bytes(index, shard.folder.path(), 0, 0) == "plain text");
  CHECK(test::field_bytes(index, shard.folder.path(), 1, 0) == "");
  CHECK(test::field_bytes(index, shard.folder.path(), 2, 0) == sequence);
  CHECK(index.fields()[0].name == "value");
}

TEST_CASE("a wrong checksum is corrupt, of a length or of bytes, and named by its offset") {
  const Shard shard({"one", "two", "three"});
  const std::size_t second = frame("one").size();
  for (const std::size_t at : {second, second + 9, second + 12, second + 15}) {
    std::string changed = shard.bytes;
    changed[at] ^= 4;
    test::write_file(shard.path, changed);
    CAPTURE(at);
    CHECK_THROWS_WITH_AS(shard.index(), doctest::Contains(("offset " + std::to_string(second)).c_str()), Error);
    CHECK_THROWS_WITH_AS(shard.index(), doctest::Contains("checksum"), Error);
  }
}

TEST_CASE("compressed files are refused with advice") {
  const TemporaryFolder folder;
  for (const std::string& magic : {std::string("\x1F\x8B\x08\0", 4), std::string("\x78\x9C\x01\x02")}) {
    test::write_file(folder / "a.tfrecord", magic + std::string(100, 'z'));
    CHECK_THROWS_WITH_AS(kTfrecord.index(folder / "a.tfrecord", folder.path(), {}),
                         doctest::Contains("compressed as a whole"), Error);
  }
}

TEST_CASE("shards are known by name or content") {
  const Shard made({"one"});
  const TemporaryFolder folder;
  for (const char* name : {"b.tfrecord", "a.tfrecords", "c.tfrec", "x.tfrecord-00000-of-00001", "train-00000-of-00010",
                           "data_tfrecord-00000-of-00002.gz", "plain", ".hidden.tfrecord"}) {
    test::write_file(folder / name, made.bytes);
  }
  test::write_file(folder / "other-00000-of-00010", "something else, long enough");
  test::write_file(folder / "table-00000-of-00010.parquet", made.bytes);
  std::vector<std::string> names;
  for (const auto& path : kTfrecord.find_shards(folder.path())) names.push_back(path.filename().string());
  CHECK(names == std::vector<std::string>{"a.tfrecords", "b.tfrecord", "c.tfrec", "data_tfrecord-00000-of-00002.gz",
                                          "train-00000-of-00010", "x.tfrecord-00000-of-00001"});
  CHECK(kTfrecord.find_shards(folder / "plain").size() == 1);
  CHECK(kTfrecord.find_shards(folder / "other-00000-of-00010").empty());
  CHECK(kTfrecord.find_shards(folder / "absent").empty());
}

TEST_CASE("a file cut anywhere is refused, or ends at a record") {
  const Shard shard({example({{"x", ints({1, 2})}, {"y", strings({"abc"})}}), "plain", example({{"x", floats({1})}})});
  test::survive_cuts(kTfrecord, shard.path, shard.bytes, shard.path, shard.folder.path());
  test::survive_flips(kTfrecord, shard.path, shard.bytes, shard.path, shard.folder.path(), 500);
}

TEST_CASE("records with bits flipped and right checksums are read in some way, never outside their bytes") {
  const std::vector<std::int64_t> many{1, 2, 300, -4, 5, 6, 70'000, 8, 9, 10};
  const std::string record = example({{"__key__", strings({"k"})},
                                      {"a", strings({"photo"})},
                                      {"b", ints(many)},
                                      {"c", floats({1, 2, 3})},
                                      {"d", ints({1, 2}, false)},
                                      {"e", floats({1, 2}, false)}});
  const Shard shard({record});
  std::mt19937 random(20240611);
  for (int round = 0; round < 4000; ++round) {
    CAPTURE(round);
    std::string changed = record.substr(0, round % 5 == 0 ? random() % record.size() : record.size());
    for (int i = 0; i <= round % 3 && !changed.empty(); ++i) {
      char& byte = changed[random() % changed.size()];
      byte = round % 2 == 0 ? static_cast<char>(random()) : static_cast<char>(byte ^ (1 << random() % 8));
    }
    test::write_file(shard.path, frame(record) + frame(changed));
    test::reads_or_refuses(kTfrecord, shard.path, shard.folder.path());
  }
}

TEST_CASE("what was packed reads back byte for byte, from the writer's index and from the file alone") {
  const TemporaryFolder folder;
  const auto samples = test::random_samples(40, 9);
  const auto fields = test::random_sample_fields();
  const auto writer = kTfrecord.write(folder / "s.tfrecord", {.fields = fields, .align = 1});
  const Index written = test::write_samples(*writer, fields, samples);
  CHECK(writer->bytes() == std::filesystem::file_size(folder / "s.tfrecord"));
  const Index scanned = kTfrecord.index(folder / "s.tfrecord", folder.path(), {});
  for (const Index* index : {&written, &scanned}) {
    const auto read = test::all_fields(*index, folder.path());
    REQUIRE(read.size() == samples.size());
    for (const auto& sample : samples) CHECK(read.at(sample.key) == sample.fields);
  }
  CHECK(written.crc32c(0, 0) == crc32c(bytes_of(samples[0].fields.at("jpg"))));
  CHECK(written.file(0).path == scanned.file(0).path);
  CHECK(written.file(0).size == scanned.file(0).size);
}

TEST_CASE("a class that is no plain number is written as the bytes it is") {
  const TemporaryFolder folder;
  const std::vector<FieldSchema> fields{{.name = "cls", .codec = "cls"}};
  for (const std::string text : {"7", "-3", "007", "+1", "3\n", "", "cat", "99999999999999999999"}) {
    CAPTURE(text);
    std::filesystem::remove(folder / "s.tfrecord");
    const auto writer = kTfrecord.write(folder / "s.tfrecord", {.fields = fields, .align = 1});
    const Index written = test::write_samples(*writer, fields, {{"k", {{"cls", text}}}});
    CHECK(test::field_bytes(written, folder.path(), 0, 0) == text);
    const Index scanned = kTfrecord.index(folder / "s.tfrecord", folder.path(), {});
    CHECK(test::field_bytes(scanned, folder.path(), 0, 0) == text);
  }
  CHECK_THROWS_AS(kTfrecord.write(folder / "t", {.fields = {{.name = "__key__", .codec = ""}}, .align = 1}), Error);
}

TEST_CASE("real files have as many records as an independent reader finds") {
  const auto files = test::expected_files("tfrecord/");
  if (files.empty()) return;
  std::size_t read = 0;
  for (const test::ExpectedFile& file : files) {
    CAPTURE(file.name);
    const std::filesystem::path& path = file.path;
    if (path.extension() == ".gz") {
      CHECK_THROWS_WITH_AS(kTfrecord.index(path, path.parent_path(), {}), doctest::Contains("gzip"), Error);
      continue;
    }
    const Index index = kTfrecord.index(path, path.parent_path(), {});
    CHECK(file.facts.find("records=" + std::to_string(index.size()) + " ") != std::string::npos);
    CHECK(test::reads_or_refuses(kTfrecord, path, path.parent_path()));
    ++read;
  }
  CHECK(read >= 9);
}

}  // namespace penstock::test::tfrecord_test
