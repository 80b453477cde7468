// What verify finds beside bytes that differ: what loaders make of them, and checksums of parts of values.
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/shard_sum.hpp>
#include <pack/recoding.hpp>
#include <penstock/verify.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

#include "support/loading.hpp"
#include "support/picture_files.hpp"
#include "support/resigned.hpp"

namespace penstock::test::verify_test {
namespace {

const std::string kOtherValue = "the bytes are correct, but a loader delivers other values for them";

std::vector<std::string> faults(const Dataset& dataset, const Dataset* source = nullptr) {
  std::vector<std::string> found;
  for (const BadValue& bad : verify(dataset, {.against = source}).bad)
    found.push_back((bad.key.empty() ? "" : bad.key + "." + bad.field + ": ") + bad.cause);
  return found;
}

/// A file as the only value of a sample "one", read as `schema` tells, of a dataset packed with `made_with`.
Dataset one_value(const std::filesystem::path& file, const FieldSchema& schema, const std::string& made_with = "{}") {
  const std::uint64_t length = std::filesystem::file_size(file);
  IndexBuilder builder;
  builder.add_file({.path = file.filename(), .size = length, .stamp = 0});
  builder.add_sample("one");
  builder.set(builder.field(schema), Extent{0, 0, length});
  Index index = std::move(builder).finish();
  const Manifest manifest{.format = "tar",
                          .samples = 1,
                          .fields = {schema},
                          .classes = {},
                          .shards = {describe_shard(file.parent_path(), file.filename(), index)},
                          .made_with = made_with};
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(index), .root = file.parent_path(), .name = file.filename()});
  return {file.parent_path(), "tar", std::move(shards), {}, true, manifest.to_json()};
}

FieldSchema numbers_of(const std::string& field, const std::filesystem::path& file) {
  const auto length = static_cast<std::int64_t>(std::filesystem::file_size(file));
  return {.name = field, .codec = "raw", .shape = {length}, .fixed = true};
}

}  // namespace

TEST_CASE("verify compares what loaders make of equal bytes") {
  const TemporaryFolder folder;
  const auto file = folder / "data" / "one.npy";
  write_file(file, npy_file({1, 2, 3}, "(3,)"));
  const Dataset source = open(folder / "data");
  CHECK(faults(one_value(file, {.name = "npy", .codec = "npy"}), &source).empty());
  CHECK(faults(one_value(file, numbers_of("npy", file)), &source) ==
        std::vector<std::string>{"one.npy: " + kOtherValue});
}

TEST_CASE("verify compares what loaders make of photographs in another code") {
  const TemporaryFolder folder;
  const std::string photograph = jpeg_picture(64, 48, 3, 1);
  write_file(folder / "data" / "one.jpg", photograph);
  const Dataset source = open(folder / "data");
  const auto file = folder / "recoded";
  jpt::Encoder encoder;
  write_file(file, text_of(encoder.encode(bytes_of(photograph))));
  CHECK(faults(one_value(file, {.name = "jpg", .codec = "jpt"}), &source).empty());
  CHECK(faults(one_value(file, numbers_of("jpg", file)), &source) ==
        std::vector<std::string>{"one.jpg: " + kOtherValue});
}

TEST_CASE("verify compares what loaders make of photographs that were made over") {
  const TemporaryFolder folder;
  const std::string photograph = jpeg_picture(64, 48, 3, 1);
  write_file(folder / "data" / "one.jpg", photograph);
  const Dataset source = open(folder / "data");
  const auto file = folder / "again";
  for (const Recoding& recoding :
       {Recoding{.jpeg = jpeg_recoding("quality:50", 0)}, Recoding{.jpeg = jpeg_recoding("keep", 32)}}) {
    FieldRecoder recoder(recoding);
    write_file(file, text_of(recoder.recode({.name = "jpg", .codec = "jpeg"}, "one", bytes_of(photograph))));
    const std::string made_with = recoding_json(recoding);
    CHECK(faults(one_value(file, {.name = "jpg", .codec = "jpeg"}, made_with), &source).empty());
    CHECK(faults(one_value(file, numbers_of("jpg", file), made_with), &source) ==
          std::vector<std::string>{"one.jpg: " + kOtherValue});
    CHECK(faults(one_value(file, {.name = "jpg", .codec = "jpeg"}), &source) ==
          std::vector<std::string>{"one.jpg: the bytes differ from the source's"});
  }
}

TEST_CASE("verify compares the checksums of ranges of values") {
  const TemporaryFolder folder;
  for (const char* key : {"a", "b"}) {
    std::string value(200'000, '\0');
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 7 + i / 251);
    write_file(folder / "data" / (std::string(key) + ".bin"), value);
  }
  const Dataset source = open(folder / "data");
  const Dataset whole = packed(source, folder / "packed", "tar");
  const VerifyResult good = verify(whole);
  CHECK(good.bad_count == 0);
  CHECK(good.checked == 2);
  CHECK(good.ranges_checked == 8);

  // The index and the manifest agree with each other: a fault of whoever packed, and not of the storage.
  const auto index = folder / "packed" / index_name(whole.shard(1).name);
  std::vector<std::byte> bytes(std::filesystem::file_size(index) + 1);
  std::ifstream(index, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.pop_back();
  change<std::uint32_t>(section(bytes, index_layout::SectionId::range_sums), 3, [](std::uint32_t& sum) { sum ^= 1; });
  bytes = resigned(bytes);
  write_file(index, text_of(bytes));
  Manifest manifest = Manifest::from_json(whole.attributes());
  manifest.shards[1].index = crc32c(std::span(bytes).first(64));
  write_file(folder / "packed" / Manifest::kFileName, manifest.to_json());

  const Dataset wrong = open(folder / "packed");
  CHECK(faults(wrong) ==
        std::vector<std::string>{"b.bin: " + wrong.shard(1).name +
                                 ": bytes 196608 to 200000 of the value do not match the recorded CRC-32C"});
  CHECK(faults(wrong, &source) == faults(wrong));
}

}  // namespace penstock::test::verify_test
