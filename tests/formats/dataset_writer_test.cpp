#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/io/crc32c.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/packed.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/dataset_writing.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::dataset_writer_test {

namespace fs = std::filesystem;

TEST_CASE("a packed dataset reads back, and its shards are within the size asked for") {
  const TemporaryFolder folder;
  for (const char* format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    options.shard_size = 64 << 10;
    write_all_samples(folder / format, options);
    check_content(folder / format);
    const Dataset dataset = penstock::open(folder / format);
    CHECK(dataset.shard_count() > 1);
    CHECK(dataset.format() == format);
    CHECK(dataset.classes().size() == 2);
    CHECK(dataset.complete(0));
    CHECK_FALSE(fs::exists(folder / (std::string(format) + ".partial")));
    CHECK_FALSE(fs::exists(folder / format / Journal::kFileName));
  }
  CHECK(penstock::open(folder / "tar").fingerprint() == penstock::open(folder / "lmdb").fingerprint());
  CHECK(penstock::open(folder / "tar").fingerprint() == penstock::open(folder / "hdf5").fingerprint());
}

TEST_CASE("every packing has the same bytes when its shards are completed aside, and reports as many") {
  const TemporaryFolder folder;
  for (const char* format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    write_all_samples(folder / format, options);
    options.in_background = completed_in_background().in_background;
    const fs::path other = folder / (std::string(format) + ".aside");
    std::uint64_t bytes = 0;
    {
      DatasetWriter writer(other, options);
      for (std::uint64_t i = 0; i < kSamples; ++i) {
        add(writer, i);
        CHECK(writer.bytes() >= bytes);
        bytes = writer.bytes();
      }
      writer.finish();
    }
    CHECK(content_of(other) == content_of(folder / format));
  }
}

TEST_CASE("the checksum of a shard is that of its files' bytes, also where it was put together from its values'") {
  const TemporaryFolder folder;
  for (const char* format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    options.shard_size = std::uint64_t{1} << 20;
    {
      DatasetWriter writer(folder / format, options);
      for (std::uint64_t i = 0; i < 30; ++i) {
        const std::string value(i % 3 == 0 ? 100 : 32700 + i * 4099, static_cast<char>('a' + i));
        const std::vector<FieldValue> fields{
            {.field = 0, .bytes = bytes_of(value), .crc32c = crc32c(bytes_of(value)), .header = {}}};
        writer.add(key_of(i), fields);
      }
      writer.finish();
    }
    const Dataset dataset = penstock::open(folder / format);
    CHECK(dataset.shard_count() > 1);
    for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) CHECK_NOTHROW(verify_shard(dataset, shard));
  }
}

TEST_CASE("a value that does not have its checksum is noticed by verify_shard") {
  const TemporaryFolder folder;
  const std::string value(100'000, 'x');
  {
    DatasetWriter writer(folder / "set", small_shards());
    writer.add("key", std::vector<FieldValue>{{.field = 0, .bytes = bytes_of(value), .crc32c = 1, .header = {}}});
    writer.finish();
  }
  CHECK_THROWS_WITH_AS(verify_shard(penstock::open(folder / "set"), 0), doctest::Contains("checksum"), Error);
}

TEST_CASE("an existing destination is an error; overwrite replaces it only once the new one is complete") {
  const TemporaryFolder folder;
  write_all_samples(folder / "set", small_shards());
  const auto before = content_of(folder / "set");
  const std::string refused =
      (folder / "set").string() + ": invalid argument: already exists; pass --overwrite (overwrite=True) to replace it";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", small_shards()), refused.c_str(), Error);

  DatasetWriterOptions options = small_shards();
  options.overwrite = true;
  options.shard_size = 1 << 20;
  {
    DatasetWriter writer(folder / "set", options);
    add(writer, 0);
    CHECK(content_of(folder / "set") == before);
  }
  CHECK(content_of(folder / "set") == before);
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
  CHECK(penstock::open(folder / "set").shard_count() == 1);
  CHECK_FALSE(fs::exists(folder / "set.partial"));
}

TEST_CASE("overwrite never removes what is no packed dataset") {
  const TemporaryFolder folder;
  write_file(folder / "photos" / "a.jpg", "x");
  DatasetWriterOptions options = small_shards();
  options.overwrite = true;
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "photos", options),
                       doctest::Contains("only a packed dataset can be replaced"), Error);
  write_file(folder / "set.partial" / "a.jpg", "x");
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options),
                       doctest::Contains("only a packed dataset can be replaced"), Error);
  CHECK(fs::exists(folder / "photos" / "a.jpg"));
  CHECK(fs::exists(folder / "set.partial" / "a.jpg"));
}

TEST_CASE("wrong options fail before anything is written") {
  const TemporaryFolder folder;
  DatasetWriterOptions options = small_shards();
  options.format = "zip7";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("unknown format"), Error);
  options.format = "folder";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("cannot be written"), Error);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("the same key twice in a row is an error that names it") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "set", small_shards());
  add(writer, 0);
  CHECK_THROWS_WITH_AS(add(writer, 0), doctest::Contains("class/1000"), Error);
}

TEST_CASE("a dataset may be opened by its penstock.json or with a slash behind it") {
  const TemporaryFolder folder;
  write_all_samples(folder / "set/", small_shards());
  CHECK(penstock::open(folder / "set/").size() == kSamples);
  CHECK(penstock::open(folder / "set" / "penstock.json").size() == kSamples);
}

}  // namespace penstock::test::dataset_writer_test
