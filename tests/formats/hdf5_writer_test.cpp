#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include <formats/hdf5/hdf5.hpp>
#include <formats/index/index.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/file_size_limit.hpp"
#include "support/hdf5_files.hpp"
#include "support/kind_of_failure.hpp"
#include "support/random_samples.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::hdf5_writer_test {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kSeed = 90210;

}  // namespace

TEST_CASE("a packed shard reads back byte for byte, in the order given, with and without its index") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  const auto samples = random_samples(400, kSeed);
  const fs::path shard = folder / "shard-000000.h5";
  const Index written = write_samples(*kHdf5.write(shard, {.fields = fields}), fields, samples);
  REQUIRE(written.size() == samples.size());
  std::map<std::string, std::map<std::string, std::string>> expected;
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    CHECK(written.key(i) == samples[i].key);
    expected[samples[i].key] = samples[i].fields;
    CHECK(written.header(i, 0).size() == 3);
    CHECK(written.crc32c(i, 0) == crc32c(bytes_of(samples[i].fields.at("jpg"))));
  }
  CHECK(all_fields(written, folder.path()) == expected);
  const Index again = hdf5_index(shard);
  CHECK(all_fields(again, folder.path()) == expected);
  CHECK(again.attributes() == "{}");
  for (const FieldSchema& field : again.fields()) {
    CHECK(field.codec == (field.name == "jpg" ? "jpeg" : field.name == "cls" ? "cls" : "png"));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // no temporary file stays
}

TEST_CASE("fixed fields become datasets of their own type, and come back with it") {
  const TemporaryFolder folder;
  std::vector<FieldSchema> fields;
  for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64,
                            DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64, DType::boolean}) {
    fields.push_back({std::string(name(dtype)), "raw", dtype, {3, 2}, true});
  }
  fields.push_back({"scalar", "raw", DType::i64, {}, true});
  fields.push_back({"none", "raw", DType::f32, {0, 4}, true});
  std::mt19937 random(kSeed);
  std::vector<MadeSample> samples;
  for (int i = 0; i < 30; ++i) {
    MadeSample sample{"s" + std::to_string(100 + i), {}};
    for (const FieldSchema& field : fields) {
      if (i == 7 && field.name == "float16") continue;
      sample.fields[field.name] = random_bytes(random, element_count(field.shape) * size_of(field.dtype));
    }
    samples.push_back(sample);
  }
  const fs::path shard = folder / "s.h5";
  const Index written = write_samples(*kHdf5.write(shard, {.fields = fields}), fields, samples);
  const Index again = hdf5_index(shard);
  for (const MadeSample& sample : samples) {
    CHECK(all_fields(written, folder.path()).at(sample.key) == sample.fields);
    CHECK(all_fields(again, folder.path()).at(sample.key) == sample.fields);
  }
  for (const FieldSchema& field : again.fields()) CHECK(std::find(fields.begin(), fields.end(), field) != fields.end());

  const auto writer = kHdf5.write(folder / "t.h5", {.fields = fields});
  const std::vector<FieldValue> wrong{{0, bytes_of("12345"), 0, {}}};
  CHECK(kind_of_failure([&] { writer->add("k", wrong); }) == ErrorKind::shape);
}

TEST_CASE("a shard of no samples is valid") {
  const TemporaryFolder folder;
  const auto fields = random_sample_fields();
  const Index written = kHdf5.write(folder / "s.h5", {.fields = fields})->finish();
  CHECK(written.size() == 0);
  CHECK(hdf5_index(folder / "s.h5").size() == 0);
}

TEST_CASE("two packs of the same samples are the same bytes") {
  const TemporaryFolder folder;
  auto fields = random_sample_fields();
  fields.push_back({"row", "raw", DType::f16, {4}, true});
  auto samples = random_samples(300, kSeed);
  samples[5].fields["row"] = "12345678";
  std::vector<std::string> contents;
  for (const char* name : {"one.h5", "two.h5"}) {
    const std::vector<char> litter(100'000, name[0]);
    write_samples(*kHdf5.write(folder / name, {.fields = fields}), fields, samples);
    contents.push_back(read_file(folder / name));
    if (contents.size() == 1) ::sleep(1);  // times in seconds would differ
  }
  CHECK(contents[0].size() > 1'000'000);
  CHECK(contents[0] == contents[1]);
}

TEST_CASE("fields whose names are paths lie in groups, with and without the shard's index") {
  const TemporaryFolder folder;
  const std::vector<FieldSchema> fields{
      {.name = "a/b/rows", .codec = "raw", .dtype = DType::u8, .shape = {2}, .fixed = true},
      {.name = "a/txt", .codec = "txt"},
      {.name = "some/txt", .codec = "txt"}};
  const auto writer = kHdf5.write(folder / "s.h5", {.fields = fields});
  const auto value = [](std::uint32_t field, const std::string& bytes) {
    return FieldValue{.field = field, .bytes = std::as_bytes(std::span(bytes)), .crc32c = 0, .header = {}};
  };
  const std::string rows = "12", text = "one";
  writer->add("x", std::array{value(0, rows), value(1, text), value(2, text)});
  writer->add("y", std::array{value(0, rows), value(1, text)});
  writer->finish();
  const Index index = kHdf5.index(folder / "s.h5", folder.path(), {});
  using Fields = std::map<std::string, std::string>;
  CHECK(all_fields(index, folder.path()) ==
        std::map<std::string, Fields>{{"x", {{"a/b/rows", "12"}, {"a/txt", "one"}, {"some/txt", "one"}}},
                                      {"y", {{"a/b/rows", "12"}, {"a/txt", "one"}}}});
}

TEST_CASE("field names that HDF5 cannot hold are refused, as is a place that cannot be written") {
  const TemporaryFolder folder;
  for (const char* name : {"", ".", "/a", "a/", "a//b", "a/./b", "__key__", "__key__/a", "__present__"}) {
    CAPTURE(name);
    const std::vector<FieldSchema> fields{{.name = name, .codec = ""}};
    CHECK(kind_of_failure([&] { kHdf5.write(folder / "s.h5", {.fields = fields}); }) == ErrorKind::unsupported);
  }
  const std::vector<FieldSchema> fields{{.name = "a", .codec = ""}, {.name = "a/b", .codec = ""}};
  CHECK(kind_of_failure([&] { kHdf5.write(folder / "s.h5", {.fields = fields}); }) == ErrorKind::unsupported);
  const auto writer = kHdf5.write(folder / "absent" / "s.h5", {.fields = random_sample_fields()});
  CHECK(kind_of_failure([&] { writer->finish(); }) == ErrorKind::io);
}

TEST_CASE("a full disk is an i/o error that names the shard, wherever the disk fills up") {
  const auto fields = random_sample_fields();
  const auto samples = random_samples(200, kSeed);
  for (const rlim_t limit : {1'000U, 10'000U, 100'000U, 500'000U, 1'000'000U}) {
    const TemporaryFolder folder;
    const FileSizeLimit full(limit);
    CAPTURE(limit);
    try {
      write_samples(*kHdf5.write(folder / "s.h5", {.fields = fields}), fields, samples);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(std::string(error.what()).find("s.h5") != std::string::npos);
    }
  }
}

}  // namespace penstock::test::hdf5_writer_test
