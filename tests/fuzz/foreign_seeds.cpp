#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <libdeflate.h>
#include <lmdb.h>

#include <formats/io/crc32c.hpp>
#include <formats/tfrecord/frames.hpp>

#include "fuzz/seeds.hpp"
#include "support/encoded.hpp"

namespace penstock::fuzz {
namespace {

namespace fs = std::filesystem;
using Values = std::map<std::string, std::string>;
using Numbers = std::vector<std::uint64_t>;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

// protobuf: a field with length.
std::string message(char tag, const std::string& value) {
  return std::string(1, static_cast<char>(tag << 3 | 2)) + static_cast<char>(value.size()) + value;
}

std::string feature(const std::string& name, char kind, const std::string& list) {
  return message(1, message(1, name) + message(2, message(kind, list)));
}

std::string frame(const std::string& record) {
  const std::string length = number(record.size(), 8);
  return length + number(masked_crc32c(crc32c(test::to_bytes(length))), 4) + record +
         number(masked_crc32c(crc32c(test::to_bytes(record))), 4);
}

void add_examples(const Seeds& seeds) {
  const std::string floats = message(1, number(0x3F800000, 4) + number(0x40000000, 4));
  const std::string single = "\x0D" + number(0x3F800000, 4) + "\x0D" + number(0x40000000, 4);
  const std::string ints = message(1, "\x01\xAC\x02"), lone = "\x08\x07";
  const std::string all =
      message(1, feature("image/encoded", 1, message(1, "bytes")) + feature("f", 2, floats) + feature("s", 2, single) +
                     feature("i", 3, ints) + feature("label", 3, lone) + feature("none", 1, ""));
  const std::string few = message(1, feature("f", 2, single) + feature("i", 3, lone + lone));
  seeds.add("example", "all", all);
  seeds.add("example", "few", few);
  seeds.add("tfrecord", "examples", frame(all) + frame(few) + frame(all));
  seeds.add("tfrecord", "others", frame("no example") + frame(""));
}

std::string deflated(const std::string& plain) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  std::string stored(libdeflate_deflate_compress_bound(compressor, plain.size()), '\0');
  stored.resize(libdeflate_deflate_compress(compressor, plain.data(), plain.size(), stored.data(), stored.size()));
  libdeflate_free_compressor(compressor);
  return stored;
}

// Source: PKWARE APPNOTE 4.3.
std::string archive(const Values& entries, bool deflates, const std::string& extra = {}) {
  std::string bytes, directory;
  for (const auto& [name, plain] : entries) {
    const std::string data = deflates ? deflated(plain) : plain;
    const std::string common = number(0x800, 2) + number(deflates ? 8 : 0, 2) + number(0, 4) +
                               number(libdeflate_crc32(0, plain.data(), plain.size()), 4) + number(data.size(), 4) +
                               number(plain.size(), 4) + number(name.size(), 2) + number(extra.size(), 2);
    directory += number(0x02014B50, 4) + number(0x0314, 2) + number(20, 2) + common + number(0, 6) +
                 number(0100644U << 16, 4) + number(bytes.size(), 4) + name + extra;
    bytes += number(0x04034B50, 4) + number(20, 2) + common + name + extra + data;
  }
  const std::size_t begin = bytes.size();
  return bytes + directory + number(0x06054B50, 4) + number(0, 4) + number(entries.size(), 2) +
         number(entries.size(), 2) + number(directory.size(), 4) + number(begin, 4) + number(0, 2);
}

void add_archives(const Seeds& seeds) {
  const Values files{
      {"cat/a.txt", "text text text"}, {"cat/a.json", "[1]"}, {"dog/\xC3\xA9.txt", "other"}, {"dog/", ""}};
  seeds.add("zip", "stored", archive(files, false));
  seeds.add("zip", "deflated", archive(files, true));
  seeds.add("zip", "extra", archive(files, true, number(1, 2) + number(16, 2) + number(14, 8) + number(14, 8)));
  const auto array = [](std::string_view type, const Shape& shape) {
    return text_of(test::npy(type, shape, test::to_bytes(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6})));
  };
  const Values arrays{{"x.npy", array("<i4", {3, 2})}, {"y.npy", array(">i2", {3, 4})}, {"z.npy", array("<f8", {3})}};
  seeds.add("npy", "stored.npz", archive(arrays, false));
  seeds.add("npy", "deflated.npz", archive(arrays, true));
}

void check(int code) {
  if (code != 0) throw std::runtime_error(mdb_strerror(code));
}

void put(MDB_env* environment, const char* database, const Values& values) {
  MDB_txn* transaction = nullptr;
  check(mdb_txn_begin(environment, nullptr, 0, &transaction));
  MDB_dbi number = 0;
  check(mdb_dbi_open(transaction, database, database == nullptr ? 0 : MDB_CREATE, &number));
  for (const auto& [name, value] : values) {
    MDB_val key{name.size(), const_cast<char*>(name.data())};
    MDB_val data{value.size(), const_cast<char*>(value.data())};
    check(mdb_put(transaction, number, &key, &data, 0));
  }
  check(mdb_txn_commit(transaction));
}

void add_database(const Seeds& seeds, const std::string& name, const std::map<const char*, Values>& databases) {
  const fs::path folder = seeds.scratch("db");
  fs::create_directories(folder);
  MDB_env* environment = nullptr;
  check(mdb_env_create(&environment));
  check(mdb_env_set_maxdbs(environment, 4));
  check(mdb_env_open(environment, folder.c_str(), MDB_NOLOCK, 0644));
  for (const auto& [database, values] : databases) put(environment, database, values);
  mdb_env_close(environment);
  seeds.add_file("lmdb", name, folder / "data.mdb");
}

void add_databases(const Seeds& seeds) {
  const std::string pixels =
      "\x22\x06"
      "abcdef";
  const std::string datum = "\x08\x03\x10\x02\x18\x01" + pixels + "\x28\x05";
  add_database(seeds, "datum", {{nullptr, {{"0", datum}, {"1", datum}}}});
  const std::string map =
      "\x83\xA5label\x07\xA5image\xC4\x03"
      "abc\xA1x\x83\xA4type\xA3<f4\xA5shape\x91\x01\xA4"
      "data\xC4\x04"
      "1234";
  add_database(seeds, "msgpack", {{nullptr, {{"a", map}, {"b", map}}}});
  add_database(seeds, "plain", {{nullptr, {{"a.txt", "text"}, {"b.txt", std::string(5000, 'x')}}}});
  add_database(seeds, "ocr", {{nullptr, {{"image-000000001", "i"}, {"label-000000001", "l"}, {"num-samples", "1"}}}});
  add_database(seeds, "named", {{"images", {{"1", "i"}, {"2", "j"}}}, {"labels", {{"1", "l"}, {"2", "m"}}}});
  Values many;
  for (int i = 0; i < 200; ++i) many["key " + std::to_string(i) + ".txt"] = std::string(60, 'v');
  add_database(seeds, "many", {{nullptr, many}});
}

void add_mds(const Seeds& seeds) {
  const std::string json =
      R"({"shards":[{"column_encodings":["str","ndarray","str_int","ndarray:int16:2","bytes"],"column_names":["__key__","any","digits","fixed","blob"],)"
      R"("column_sizes":[null,null,null,4,null],"compression":null,"format":"mds","hashes":[],"raw_data":{"basename":"shard-000000.mds","bytes":57,)"
      R"("hashes":{}},"samples":2,"size_limit":1000,"version":2,"zip_data":null}],"version":2})";
  const std::string value = "k0" + std::string("\x08\x04\x03", 3) + "abc" + "7" + "wxyz" + "blob";
  const std::string sample = number(2, 4) + number(6, 4) + number(1, 4) + number(4, 4) + value;
  const std::size_t begin = 4 + 4 * 3 + 2;
  std::string shard = number(2, 4);
  for (std::size_t i = 0; i < 3; ++i) shard += number(begin + i * sample.size(), 4);
  seeds.add("mds", "columns", json + '\0' + shard + "{}" + sample + sample);
}

// Lengths i32, begins i64 and the first sequences of documents i64, of tokens of two bytes.
void add_megatron(const Seeds& seeds) {
  const auto index = [](const Numbers& lengths, const Numbers& begins, const Numbers& documents, int dtype) {
    std::string bytes = std::string("MMIDIDX\0\0", 9) + number(1, 8) + number(dtype, 1) + number(lengths.size(), 8) +
                        number(documents.size(), 8);
    for (const std::uint64_t length : lengths) bytes += number(length, 4);
    for (const std::uint64_t begin : begins) bytes += number(begin, 8);
    for (const std::uint64_t first : documents) bytes += number(first, 8);
    return bytes;
  };
  seeds.add("megatron", "documents", index({5, 9, 0, 2}, {0, 10, 28, 28}, {0, 1, 2, 4}, 8));
  seeds.add("megatron", "pieces", index({4, 4, 4}, {0, 20, 40}, {0, 3}, 4));
  seeds.add("megatron", "one", index({1}, {0}, {0, 1}, 1));
  seeds.add("megatron", "none", index({}, {}, {0, 0}, 5));
}

}  // namespace

void add_foreign(const Seeds& seeds) {
  add_examples(seeds);
  add_archives(seeds);
  add_databases(seeds);
  add_mds(seeds);
  add_megatron(seeds);
}

}  // namespace penstock::fuzz
