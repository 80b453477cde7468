#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <lmdb.h>

#include <formats/index/index.hpp>
#include <formats/lmdb/lmdb.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/file_size_limit.hpp"
#include "support/kind_of_failure.hpp"
#include "support/lmdb_files.hpp"
#include "support/random_samples.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::lmdb_writer_test {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kSeed = 7411;

}  // namespace

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
  CHECK(all_fields(lmdb_index(shard), folder.path()) == found);
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

}  // namespace penstock::test::lmdb_writer_test
