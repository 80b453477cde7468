// Tests checksums of parts of values in the index of a packed dataset.
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/extent.hpp>
#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::range_sums_test {
namespace {

std::uint32_t version_of(const Index& index) {
  std::uint32_t version = 0;
  std::memcpy(&version, index.bytes().data() + 8, sizeof(version));
  return version;
}

std::string value_of(std::uint64_t length) {
  std::string value(length, '\0');
  for (std::uint64_t i = 0; i < length; ++i) value[i] = static_cast<char>(i * 7 + i / 251);
  return value;
}

}  // namespace

TEST_CASE("every packing's index has the checksum of each 64 KiB of its longer values") {
  const std::vector<std::uint64_t> lengths{0, 1, 65'535, 65'536, 65'537, 131'072, 200'000, 5, 300'001};
  for (const Format& format : formats()) {
    if (format.write == nullptr) continue;
    CAPTURE(format.name);
    const TemporaryFolder folder;
    DatasetWriterOptions options;
    options.format = format.name;
    options.shard_size = 300'000;
    options.fields = {{.name = "bin", .codec = ""}, {.name = "cls", .codec = "cls"}};
    DatasetWriter writer(folder / "packed", options);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::string value = value_of(lengths[i]), cls = "3";
      const std::vector<FieldValue> fields{
          {.field = 0, .bytes = bytes_of(value), .crc32c = crc32c(bytes_of(value)), .header = {}},
          {.field = 1, .bytes = bytes_of(cls), .crc32c = crc32c(bytes_of(cls)), .header = {}}};
      writer.add("k" + std::to_string(i), fields);
    }
    writer.finish();
    const Dataset dataset = open(folder / "packed");
    REQUIRE(dataset.shard_count() > 1);
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::string value = value_of(lengths[i]);
      const RangeSums sums = dataset.range_sums(i, *dataset.field("bin"));
      CHECK(dataset.range_sums(i, *dataset.field("cls")).size() == 0);
      if (lengths[i] <= RangeSums::kRange) {
        CHECK(sums.size() == 0);
        continue;
      }
      CHECK(sums.first == next);
      next += sums.size();
      REQUIRE(sums.size() == (lengths[i] + RangeSums::kRange - 1) / RangeSums::kRange);
      for (std::uint64_t r = 0; r < sums.size(); ++r)
        CHECK(sums[r] == crc32c(bytes_of(value.substr(r * RangeSums::kRange, RangeSums::kRange))));
    }
    CHECK(dataset.range_count() == next);
  }
}

TEST_CASE("an index without such values is of the first version, and those with them survive sorting") {
  IndexBuilder plain;
  plain.add_file({"f", 10, 0});
  const std::uint32_t field = plain.field({.name = "a", .codec = ""});
  plain.add_sample("x");
  plain.set(field, Extent{0, 0, 10});
  CHECK(version_of(std::move(plain).finish()) == 1);

  IndexBuilder builder;
  builder.add_file({"f", 1'000'000, 0});
  const std::uint32_t b = builder.field({.name = "b", .codec = ""}), a = builder.field({.name = "a", .codec = ""});
  for (const char* key : {"z", "y", "x"}) {
    builder.add_sample(key);
    builder.set(b, Extent{0, 0, key[0] == 'y' ? 10U : 70'000U});
    const std::vector<std::uint32_t> sums{static_cast<std::uint32_t>(key[0]), 2};
    if (key[0] != 'y') builder.set_range_sums(b, sums);
    builder.set(a, Extent{0, 0, 3});
  }
  builder.sort();
  const Index index = std::move(builder).finish();
  CHECK(version_of(index) == 2);
  CHECK(index.fields()[1].name == "b");
  CHECK(index.range_sums(0, 0).size() == 0);
  REQUIRE(index.range_sums(0, 1).size() == 2);
  CHECK(index.range_sums(0, 1)[0] == 'x');
  CHECK(index.range_sums(1, 1).size() == 0);
  CHECK(index.range_sums(2, 1)[0] == 'z');
}

TEST_CASE("an index that has another number of checksums than the value has ranges is broken") {
  IndexBuilder builder;
  builder.add_file({"f", 1'000'000, 0});
  const std::uint32_t field = builder.field({.name = "a", .codec = ""});
  builder.add_sample("x");
  builder.set(field, Extent{0, 0, 70'000});
  const std::vector<std::uint32_t> sums{1, 2, 3};
  builder.set_range_sums(field, sums);
  const Index index = std::move(builder).finish();
  CHECK_THROWS_WITH_AS(index.range_sums(0, field), doctest::Contains("number of ranges"), Error);
}

}  // namespace penstock::test::range_sums_test
