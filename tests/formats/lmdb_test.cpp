#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <support/field_bytes.hpp>
#include <support/file_size_limit.hpp>
#include <support/random_samples.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>
#include <lmdb.h>

#include <penstock/formats/error.hpp>
#include <penstock/formats/lmdb.hpp>
#include <penstock/formats/lmdb_pages.hpp>

namespace fs = std::filesystem;
using namespace penstock;
using namespace penstock::test;

namespace {

constexpr unsigned kSeed = 7411;

// liblmdb, as writer of foreign files and as the oracle.
class Reference {
 public:
  explicit Reference(const fs::path& folder, unsigned flags = 0) {
    fs::create_directories(folder);
    REQUIRE(mdb_env_create(&environment_) == 0);
    REQUIRE(mdb_env_set_mapsize(environment_, std::size_t{64} << 20) == 0);
    REQUIRE(mdb_env_set_maxdbs(environment_, 4) == 0);
    const int code = mdb_env_open(environment_, folder.c_str(), flags | MDB_NOLOCK, 0644);
    INFO(mdb_strerror(code));
    REQUIRE(code == 0);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { mdb_env_close(environment_); }

  void put(const std::map<std::string, std::string>& values, const char* database = nullptr, unsigned flags = 0) {
    MDB_txn* transaction = nullptr;
    REQUIRE(mdb_txn_begin(environment_, nullptr, 0, &transaction) == 0);
    MDB_dbi number = 0;
    REQUIRE(mdb_dbi_open(transaction, database, flags, &number) == 0);
    for (const auto& [name, value] : values) {
      MDB_val key{name.size(), const_cast<char*>(name.data())};
      MDB_val data{value.size(), const_cast<char*>(value.data())};
      REQUIRE(mdb_put(transaction, number, &key, &data, 0) == 0);
    }
    REQUIRE(mdb_txn_commit(transaction) == 0);
  }

  void erase(const std::string& name) {
    MDB_txn* transaction = nullptr;
    REQUIRE(mdb_txn_begin(environment_, nullptr, 0, &transaction) == 0);
    MDB_dbi number = 0;
    REQUIRE(mdb_dbi_open(transaction, nullptr, 0, &number) == 0);
    MDB_val key{name.size(), const_cast<char*>(name.data())};
    REQUIRE(mdb_del(transaction, number, &key, nullptr) == 0);
    REQUIRE(mdb_txn_commit(transaction) == 0);
  }

  std::map<std::string, std::string> all() const {
    MDB_txn* transaction = nullptr;
    REQUIRE(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction) == 0);
    MDB_dbi number = 0;
    REQUIRE(mdb_dbi_open(transaction, nullptr, 0, &number) == 0);
    MDB_cursor* cursor = nullptr;
    REQUIRE(mdb_cursor_open(transaction, number, &cursor) == 0);
    std::map<std::string, std::string> values;
    MDB_val key{};
    MDB_val data{};
    while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
      values[std::string(static_cast<char*>(key.mv_data), key.mv_size)] =
          std::string(static_cast<char*>(data.mv_data), data.mv_size);
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    return values;
  }

 private:
  MDB_env* environment_ = nullptr;
};

std::map<std::string, std::string> walked(const fs::path& file) {
  const LmdbPages pages(file);
  const std::string content = read_file(file);
  std::map<std::string, std::string> values;
  pages.walk(pages.meta().main, [&](const LmdbEntry& entry) {
    values[std::string(entry.name)] = content.substr(entry.offset, entry.length);
  });
  return values;
}

std::map<std::string, std::string> random_values(std::size_t count) {
  std::mt19937 random(kSeed);
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = i % 7 == 0 ? random() % 40'000 : random() % 2500;
    values[random_bytes(random, 1 + random() % 511)] = random_bytes(random, length);
  }
  return values;
}

ErrorKind kind_of_failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::io;
}

Index index_of(const fs::path& shard) {
  return kLmdb.index(shard, shard.parent_path(), {});
}

}  // namespace

TEST_CASE("the page walker finds every value that liblmdb finds, through splits, deletions and rewrites") {
  const TemporaryFolder folder;
  Reference reference(folder.path());
  const auto values = random_values(3000);
  reference.put(values);
  CHECK(walked(folder / "data.mdb") == values);
  std::size_t i = 0;
  for (const auto& [name, value] : values) {
    if (i++ % 20 == 0) reference.erase(name);
    if (i % 90 == 0) reference.put({{name, value + "longer"}});
  }
  CHECK(walked(folder / "data.mdb") == reference.all());
}

TEST_CASE("an empty database has no entries") {
  const TemporaryFolder folder;
  Reference reference(folder.path());
  CHECK(walked(folder / "data.mdb").empty());
  CHECK(index_of(folder.path()).size() == 0);
}

TEST_CASE("real files hold the values that liblmdb reads from them") {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  const fs::path root = data == nullptr ? fs::path() : fs::path(data) / "lmdb";
  if (data == nullptr || !fs::exists(root)) {
    MESSAGE("skipped: PENSTOCK_TEST_DATA has no lmdb folder");
    return;
  }
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "data.mdb") continue;
    CAPTURE(entry.path());
    ++files;
    const auto found = walked(entry.path());
    CHECK_FALSE(found.empty());
    CHECK(found == Reference(entry.path().parent_path(), MDB_RDONLY).all());
    const Index index = index_of(entry.path().parent_path());
    CHECK(index.size() != 0);
    CHECK_FALSE(all_fields(index, entry.path().parent_path().parent_path()).empty());
  }
  CHECK(files == 6);
}

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
  const Index index = index_of(folder / "x.lmdb");
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
  const Index index = index_of(folder.path());
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
  const Index index = index_of(folder / "named");
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
  const Index index = index_of(folder / "named");
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
  const Index index = index_of(folder / "integers");
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
    CHECK(kind_of_failure([&] { index_of(other); }) == ErrorKind::unsupported);
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
  const Index index = index_of(folder / "numbered");
  using Fields = std::map<std::string, std::string>;
  CHECK(all_fields(index, folder.path()) ==
        std::map<std::string, Fields>{{"000000001", {{"image", "i1"}, {"label", "l1"}}},
                                      {"000000002", {{"image", "i2"}, {"label", "l2"}}}});
  CHECK(index.attributes() == "{\"left_out_values\":2}");
  CHECK(index_of(folder / "dashed").key(1) == "dog-1");
}

TEST_CASE("a commit while the pages are walked is an error") {
  const TemporaryFolder folder;
  Reference reference(folder.path());
  reference.put({{"a.txt", "1"}});
  const LmdbPages pages(folder / "data.mdb");
  pages.require_unchanged();
  reference.put({{"b.txt", "2"}});
  CHECK(kind_of_failure([&] { pages.require_unchanged(); }) == ErrorKind::resource);
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
  const Index same = index_of(folder / "same");
  REQUIRE(same.fields().size() == 2);
  CHECK(same.fields()[0] ==
        FieldSchema{.name = "data", .codec = "raw", .dtype = DType::u8, .shape = {3, 4, 2}, .fixed = true});
  auto samples = all_fields(same, folder.path());
  CHECK(samples["0_a.jpg"]["data"].size() == 24);
  CHECK(samples["0_a.jpg"]["data"][23] == 23);
  CHECK(samples["1_b.jpg"]["cls"] == "300");
  const Index other = index_of(folder / "other");
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
    index_of(folder / "broken");
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

TEST_CASE("a packed shard reads back byte for byte, in the order given, with liblmdb and without its index") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  const auto samples = random_samples(700, kSeed);
  const fs::path shard = folder / "shard-000000.lmdb";
  const auto writer = kLmdb.write(shard, {.fields = fields});
  const Index written = write_samples(*writer, fields, samples);
  REQUIRE(written.size() == samples.size());
  CHECK(written.fields().size() == fields.size());
  std::map<std::string, std::string> expected;
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    CHECK(written.key(i) == samples[i].key);
    for (const auto& [name, value] : samples[i].fields) expected[samples[i].key + "." + name] = value;
    REQUIRE(written.header(i, 0).size() == 3);
    CHECK(written.crc32c(i, 0) == crc32c(bytes_of(samples[i].fields.at("jpg"))));
  }
  CHECK(Reference(shard, MDB_RDONLY).all() == expected);
  const auto found = all_fields(written, folder.path());
  for (const MadeSample& sample : samples) CHECK(found.at(sample.key) == sample.fields);
  CHECK(all_fields(index_of(shard), folder.path()) == found);
  CHECK(std::distance(fs::directory_iterator(shard), {}) == 1);  // no lock file
}

TEST_CASE("two packs of the same samples are the same bytes") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  auto samples = random_samples(1500, kSeed);
  std::mt19937 random(kSeed);
  samples.push_back({"zz-large", {{"jpg", random_bytes(random, 6'000'000)}}});  // more than the first map has room for
  std::shuffle(samples.begin(), samples.end(), random);
  std::vector<std::string> contents;
  for (const char* name : {"one.lmdb", "two.lmdb"}) {
    std::vector<std::unique_ptr<char[]>> litter;  // so that fresh memory is not by chance the same
    for (std::size_t i = 0; i < 200; ++i) {
      litter.push_back(std::make_unique<char[]>(4096));
      std::fill_n(litter.back().get(), 4096, name[0]);
    }
    litter.clear();
    write_samples(*kLmdb.write(folder / name, {.fields = fields}), fields, samples);
    contents.push_back(read_file(folder / name / "data.mdb"));
  }
  CHECK(contents[0].size() > 6'000'000);
  CHECK(contents[0] == contents[1]);
}

TEST_CASE("names that are too long or there already are refused by name") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  const auto writer = kLmdb.write(folder / "s.lmdb", {.fields = fields});
  const std::vector<FieldValue> values{{1, {}, 0, {}}};
  writer->add(std::string(507, 'k'), values);
  CHECK(kind_of_failure([&] { writer->add(std::string(508, 'k'), values); }) == ErrorKind::unsupported);
  CHECK(kind_of_failure([&] { writer->add(std::string(507, 'k'), values); }) == ErrorKind::invalid_argument);
  CHECK(kind_of_failure([&] { kLmdb.write(folder / "absent" / "s.lmdb", {.fields = fields}); }) == ErrorKind::io);
}

TEST_CASE("cut and flipped files give an error or an index, never more") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "good");
    reference.put(random_values(400));
  }
  const std::string good = read_file(folder / "good" / "data.mdb");
  const fs::path broken = folder / "broken.mdb";
  std::size_t refused = 0;
  auto attempt = [&](const std::string& content) {
    write_file(broken, content);
    try {
      const Index index = index_of(broken);
      CHECK(index.size() <= 400);
    } catch (const Error& error) {
      ++refused;
      CHECK((error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::unsupported));
    }
  };
  for (std::size_t length = 0; length < good.size(); length += good.size() / 60) attempt(good.substr(0, length));
  CHECK(refused >= 60);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 150; ++round) {
    std::string flipped = good;
    const std::size_t page = random() % (good.size() / 4096) * 4096;
    for (int i = 0; i < 3; ++i) flipped[page + random() % 160] ^= static_cast<char>(1U << random() % 8);  // headers
    attempt(flipped);
  }
}

TEST_CASE("a full disk is an i/o error that names the shard, wherever the disk fills up") {
  const auto fields = random_sample_fields();
  const auto samples = random_samples(200, kSeed);
  for (const rlim_t limit : {1'000U, 10'000U, 100'000U, 500'000U, 1'000'000U}) {
    const TemporaryFolder folder;
    const FileSizeLimit full(limit);
    CAPTURE(limit);
    try {
      write_samples(*kLmdb.write(folder / "s.lmdb", {.fields = fields}), fields, samples);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(std::string(error.what()).find("s.lmdb") != std::string::npos);
    }
  }
}
