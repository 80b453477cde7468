// Tests which samples, keys and fields the names in LMDB files of others tell.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <lmdb.h>

#include <formats/index/index.hpp>
#include <formats/lmdb/lmdb.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/kind_of_failure.hpp"
#include "support/lmdb_files.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::lmdb_test {

namespace fs = std::filesystem;

TEST_CASE("names are split at the first dot behind the last slash, and grouped by key whatever lies between them") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "x.lmdb");
    reference.put({{"a.jpg", "1"},
                   {"a-b.jpg", "2"},
                   {"a.cls", "3"},
                   {"a.b/c.seg.PNG", "4"},
                   {"a.b/c.jpeg", "5"},
                   {"plain", "6"},
                   {".hidden", "7"},
                   {std::string("\0\xFF.x", 4), "8"}});
  }
  const Index index = lmdb_index(folder / "x.lmdb");
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < index.size(); ++i) keys.emplace_back(index.key(i));
  CHECK(keys == std::vector<std::string>{".hidden", "00ff2e78", "a", "a-b", "a.b/c", "plain"});
  auto samples = all_fields(index, folder.path());
  using Fields = std::map<std::string, std::string>;
  CHECK(samples["a"] == Fields{{"jpg", "1"}, {"cls", "3"}});
  CHECK(samples["a-b"] == Fields{{"jpg", "2"}});
  CHECK(samples["a.b/c"] == Fields{{"seg.png", "4"}, {"jpg", "5"}});
  CHECK(samples["plain"] == Fields{{"value", "6"}});
  CHECK(samples[".hidden"] == Fields{{"value", "7"}});
  CHECK(samples["00ff2e78"] == Fields{{"value", "8"}});
}

TEST_CASE("names that are decimal numbers are keys as a whole") {
  const TemporaryFolder folder;
  {
    Reference reference(folder.path());
    std::map<std::string, std::string> values;
    for (int i = 0; i < 2000; ++i) values["0." + std::to_string(i)] = std::to_string(i);
    reference.put(values);
  }
  const Index index = lmdb_index(folder.path());
  CHECK(index.size() == 2000);
  REQUIRE(index.fields().size() == 1);
  CHECK(index.fields()[0].name == "value");
}

TEST_CASE("a named database is a field of the samples that its names are the keys of") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "named");
    reference.put({{"a", "1"}, {"b.c", "2"}}, "image", MDB_CREATE);
    reference.put({{"a", "one"}, {"d", "three"}}, "text", MDB_CREATE);
    reference.put({{"length", "2"}});
  }
  const Index index = lmdb_index(folder / "named");
  using Fields = std::map<std::string, std::string>;
  CHECK(all_fields(index, folder.path()) == std::map<std::string, Fields>{{"a", {{"image", "1"}, {"text", "one"}}},
                                                                          {"b.c", {{"image", "2"}}},
                                                                          {"d", {{"text", "three"}}}});
  CHECK(index.attributes() == "{\"left_out_values\":1}");
}

TEST_CASE("named databases that hold less than the main one are left out and counted") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "named");
    reference.put({{"k", "v"}}, "inner", MDB_CREATE);
    reference.put({{"sample.txt", "v"}});
  }
  const Index index = lmdb_index(folder / "named");
  CHECK(index.size() == 1);
  CHECK(index.attributes() == "{\"left_out_databases\":1}");
}

TEST_CASE("integer names are keys in decimal, in their order") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "integers");
    std::map<std::string, std::string> values;
    for (std::uint64_t number : {7ULL, 255ULL, 256ULL, 1ULL << 40})
      values.emplace(std::string(reinterpret_cast<const char*>(&number), 8), std::to_string(number));
    reference.put(values, nullptr, MDB_INTEGERKEY);
  }
  const Index index = lmdb_index(folder / "integers");
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < index.size(); ++i) keys.emplace_back(index.key(i));
  CHECK(keys == std::vector<std::string>{"00000000000000000007", "00000000000000000255", "00000000000000000256",
                                         "00000001099511627776"});
  CHECK(all_fields(index, folder.path())["00000000000000000256"]["value"] == "256");
}

TEST_CASE("several values for a name and reversed names are refused") {
  const TemporaryFolder folder;
  for (const unsigned flag : {unsigned{MDB_DUPSORT}, unsigned{MDB_REVERSEKEY}}) {
    const fs::path other = folder / ("other" + std::to_string(flag));
    {
      Reference reference(other);
      reference.put({{"12345678", "v"}}, nullptr, flag);
    }
    CHECK(kind_of_failure([&] { lmdb_index(other); }) == ErrorKind::unsupported);
  }
}

TEST_CASE("a file that counts its samples has fields before their numbers, and values that describe it are left out") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "numbered");
    reference.put({{"image-000000001", "i1"},
                   {"label-000000001", "l1"},
                   {"image-000000002", "i2"},
                   {"label-000000002", "l2"},
                   {"__meta__", "x"},
                   {"num-samples", "2"}});
    Reference dashed(folder / "dashed");
    dashed.put({{"cat-1", "i1"}, {"dog-1", "l1"}});
  }
  const Index index = lmdb_index(folder / "numbered");
  using Fields = std::map<std::string, std::string>;
  CHECK(all_fields(index, folder.path()) ==
        std::map<std::string, Fields>{{"000000001", {{"image", "i1"}, {"label", "l1"}}},
                                      {"000000002", {{"image", "i2"}, {"label", "l2"}}}});
  CHECK(index.attributes() == "{\"left_out_values\":2}");
  CHECK(lmdb_index(folder / "dashed").key(1) == "dog-1");
}

TEST_CASE("a value that says how many others there are, or lists their names, is no sample") {
  const TemporaryFolder folder;
  const std::string pickled("\x80\x04K\x03.", 5), of_many("\x80\x04\x95\x04\0\0\0\0\0\0\0M\x03\0.", 15);
  const std::string list = std::string("\x80\x03]q\x01(X\x08\0\0\0", 12) + "256-0000 256-0001 256-0002.";
  const std::map<std::string, std::string> samples{
      {"256-0000", "\xFF\xD8 one"}, {"256-0001", "\xFF\xD8 two"}, {"256-0002", "\xFF\xD8 three"}};
  const auto keys_with = [&](std::map<std::string, std::string> more, std::string* attributes = nullptr) {
    static int number = 0;
    const fs::path path = folder / std::to_string(number++);
    more.insert(samples.begin(), samples.end());
    Reference(path).put(more);
    const Index index = lmdb_index(path);
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < index.size(); ++i) keys.emplace_back(index.key(i));
    if (attributes != nullptr) *attributes = index.attributes();
    return keys;
  };
  const std::vector<std::string> three{"256-0000", "256-0001", "256-0002"};
  std::string attributes;
  CHECK(keys_with({{"length", "3"}}, &attributes) == three);
  CHECK(attributes == R"({"left_out":{"length":"the number of the other values, 3"}})");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"length", "3\n"},
                                                        {"num_samples", pickled},
                                                        {"count", of_many},
                                                        {"total", "3"},
                                                        {"anything", "3"},
                                                        {"keys", list},
                                                        {"size", std::string("\3\0\0\0\0\0\0\0", 8)},
                                                        {"len", "17"},
                                                        {"length", "1000"}}) {
    CAPTURE(name);
    CHECK(keys_with({{name, value}}) == three);
  }
  CHECK(keys_with({{"length", "3"}, {"keys", list}}) == three);
  // Anything else stays, for it could be a sample.
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"anything", "4"}, {"length", "\xFF\xD8 a"}, {"keys", "\xFF\xD8 b"}, {"length2", "3"}, {"x.length", "3"}}) {
    CAPTURE(name);
    CHECK(keys_with({{name, value}}).size() == 4);
  }
}

TEST_CASE("among values that are numbers themselves only a known name and the exact number tell what is no sample") {
  const TemporaryFolder folder;
  Reference(folder / "a").put({{"cat", "2"}, {"dog", "3"}, {"length", "2"}});
  Reference(folder / "b").put({{"cat", "2"}, {"dog", "3"}, {"owl", "2"}});
  Reference(folder / "c").put({{"cat", "2"}, {"dog", "3"}, {"length", "9"}});
  CHECK(lmdb_index(folder / "a").size() == 2);
  CHECK(lmdb_index(folder / "b").size() == 3);
  CHECK(lmdb_index(folder / "c").size() == 3);
}

TEST_CASE("a number of samples that have several values each makes fields of what stands before their numbers") {
  const TemporaryFolder folder;
  Reference(folder / "a")
      .put({{"image-1", "\xFF\xD8 i"},
            {"label-1", "text"},
            {"image-2", "\xFF\xD8 i"},
            {"label-2", "text"},
            {"num_samples", "2"}});
  const Index index = lmdb_index(folder / "a");
  CHECK(index.size() == 2);
  CHECK(index.fields().size() == 2);
  CHECK(index.attributes() == R"({"left_out":{"num_samples":"the number of samples, 2"}})");
}

TEST_CASE("Caffe's Datum is an array and a class; with pixels of several sizes each array says its own") {
  const TemporaryFolder folder;
  const auto datum = [](int height, const std::string& label) {
    std::string data;
    for (int i = 0; i < 3 * height * 2; ++i) data.push_back(static_cast<char>(i));
    return std::string("\x08\x03\x10") + static_cast<char>(height) + "\x18\x02\x22" + static_cast<char>(data.size()) +
           data + "\x28" + label;
  };
  {
    Reference same(folder / "same");
    same.put({{"0_a.jpg", datum(4, "\x05")}, {"1_b.jpg", datum(4, "\xAC\x02")}});
    Reference other(folder / "other");
    other.put({{"0", datum(4, "\x05")}, {"1", datum(5, "\x06")}});
  }
  const Index same = lmdb_index(folder / "same");
  REQUIRE(same.fields().size() == 2);
  CHECK(same.fields()[0] ==
        FieldSchema{.name = "data", .codec = "raw", .dtype = DType::u8, .shape = {3, 4, 2}, .fixed = true});
  auto samples = all_fields(same, folder.path());
  CHECK(samples["0_a.jpg"]["data"].size() == 24);
  CHECK(samples["0_a.jpg"]["data"][23] == 23);
  CHECK(samples["1_b.jpg"]["cls"] == "300");
  const Index other = lmdb_index(folder / "other");
  CHECK(other.fields()[0] == FieldSchema{.name = "data", .codec = "npy"});
  const std::string npy = all_fields(other, folder.path())["1"]["data"];
  CHECK(npy.find("'shape': (3, 5, 2)") != std::string::npos);
  CHECK(npy.size() == 128 + 30);
}

TEST_CASE("a record that is broken among whole ones is an error that names it") {
  const TemporaryFolder folder;
  std::map<std::string, std::string> values;
  for (int i = 0; i < 20; ++i)
    values["k" + std::to_string(i)] = std::string("\x82\xA1") + "a\x07\xA3" + "img\xC4\x02zz";
  values["k7"].pop_back();
  {
    Reference reference(folder / "broken");
    reference.put(values);
  }
  try {
    lmdb_index(folder / "broken");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(error.context().key == "k7");
    CHECK(error.context().offset.has_value());
  }
}

TEST_CASE("a shard is found as folder, as file, and in a folder of shards; its stamp follows its content") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "b.lmdb");
    reference.put({{"1.txt", "one"}});
  }
  fs::create_directory(folder / "a.lmdb");
  fs::copy(folder / "b.lmdb" / "data.mdb", folder / "a.lmdb" / "data.mdb");
  write_file(folder / "c.lmdb", "not one");
  using Paths = std::vector<fs::path>;
  CHECK(kLmdb.find_shards(folder.path()) == Paths{folder / "a.lmdb", folder / "b.lmdb"});
  CHECK(kLmdb.find_shards(folder / "b.lmdb") == Paths{folder / "b.lmdb"});
  CHECK(kLmdb.find_shards(folder / "b.lmdb" / "data.mdb") == Paths{folder / "b.lmdb" / "data.mdb"});
  CHECK(kLmdb.find_shards(folder / "c.lmdb").empty());
  CHECK(kLmdb.find_shards(folder / "none").empty());
  const auto stamp = kLmdb.stamp(folder / "a.lmdb");
  CHECK(stamp == kLmdb.stamp(folder / "b.lmdb"));
  {
    Reference reference(folder / "b.lmdb");
    reference.put({{"1.txt", "two"}});
  }
  CHECK(stamp != kLmdb.stamp(folder / "b.lmdb"));
}

}  // namespace penstock::test::lmdb_test
