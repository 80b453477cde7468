// Tests the dataset writer on disks that fail or fill up, and with files damaged since.
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/packed.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/dataset_writing.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::dataset_writer_faults_test {

namespace fs = std::filesystem;

namespace {}  // namespace

TEST_CASE("what fails aside ends the writer, and only shards that are whole stay") {
  const TemporaryFolder folder;
  DatasetWriterOptions options = small_shards();
  int begun = 0;
  options.in_background = [&begun](std::function<void()> work) {
    return std::async(std::launch::async, [number = begun++, work = std::move(work)] {
      if (number == 2) throw Error::io(EIO, "cannot fsync");
      work();
    });
  };
  {
    DatasetWriter writer(folder / "set", options);
    std::string message;
    std::uint64_t i = 0;
    try {
      for (; i < kSamples; ++i) add(writer, i);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.find("cannot fsync") != std::string::npos);
    CHECK(message.find("set.partial") != std::string::npos);
    CHECK_THROWS_AS(add(writer, i), Error);
    CHECK_THROWS_AS(writer.finish(), Error);
  }
  std::vector<std::string> left;
  for (const auto& [name, content] : content_of(folder / "set.partial")) left.push_back(name);
  const std::vector<std::string> whole{"shard-000000.idx", "shard-000000.tar", "shard-000001.idx", "shard-000001.tar",
                                       "unfinished.jsonl"};
  CHECK(left == whole);
  options = completed_in_background();
  options.resume = true;
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
}

TEST_CASE("an index that cannot be written is one error that names it, and the whole shards stay") {
  const TemporaryFolder folder;
  DatasetWriterOptions options;
  SUBCASE("each shard is completed before the next begins") {
    options = small_shards();
  }
  SUBCASE("shards are completed aside") {
    options = completed_in_background();
  }
  {
    DatasetWriter writer(folder / "set", options);
    for (std::uint64_t i = 0; i < 20; ++i) add(writer, i);
    // The next .idx cannot take its name: a folder has it.
    for (int shard = 0; shard < 8; ++shard) {
      std::error_code written_now;  // of a shard that is being completed aside
      fs::create_directory(folder / "set.partial" / ("shard-00000" + std::to_string(shard) + ".idx"), written_now);
    }
    std::string message;
    try {
      for (std::uint64_t i = 20; i < kSamples; ++i) add(writer, i);
    } catch (const Error& error) {
      message = error.what();
      CHECK(error.kind() == ErrorKind::io);
    }
    CHECK_MESSAGE(message.find("Is a directory") != std::string::npos, message);
    CHECK(message.find("set.partial") != std::string::npos);
    CHECK_THROWS_AS(add(writer, 39), Error);
  }
  options.resume = true;
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
}

TEST_CASE("damage to a packed dataset is an error that names the file") {
  const TemporaryFolder folder;
  write_all_samples(folder / "set", small_shards());
  const fs::path shard = folder / "set" / "shard-000001.tar", index = folder / "set" / "shard-000001.idx";
  const std::string bytes = read_file(shard), index_bytes = read_file(index);

  SUBCASE("a shard cut short is noticed by open") {
    fs::resize_file(shard, bytes.size() - 512);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("a missing shard is noticed by open") {
    fs::remove(shard);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.tar"), Error);
  }
  const fs::path combined = folder / "set" / "penstock.idx";
  SUBCASE("a missing index is noticed by verify_shard, and by open without penstock.idx") {
    fs::remove(index);
    CHECK_THROWS_WITH_AS(verify_shard(penstock::open(folder / "set"), 1), doctest::Contains("shard-000001.idx"), Error);
    fs::remove(combined);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.idx"), Error);
  }
  SUBCASE("another shard's index is noticed by verify_shard, and by open without penstock.idx") {
    write_file(index, read_file(folder / "set" / "shard-000002.idx"));
    CHECK_THROWS_WITH_AS(verify_shard(penstock::open(folder / "set"), 1), doctest::Contains("shard-000001.tar"), Error);
    fs::remove(combined);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("open reads the other indexes if penstock.idx is damaged, cut or another file") {
    const std::string whole = read_file(combined);
    for (std::size_t i = 0; i < whole.size(); i += 5) {
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
      for (const std::string& damaged : {flipped, whole.substr(0, i)}) {
        write_file(combined, damaged);
        try {
          const Dataset dataset = penstock::open(folder / "set");
          for (std::size_t one = 0; one < dataset.shard_count(); ++one) verify_shard(dataset, one);
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::corrupt);  // damage behind a header is noticed when it is read
        }
      }
    }
    write_file(combined, read_file(index));
    check_content(folder / "set");
    fs::remove(combined);
    fs::create_directory(combined);
    check_content(folder / "set");
  }
  SUBCASE("a flipped byte of a shard is noticed by verify_shard alone") {
    std::string flipped = bytes;
    flipped[700] ^= 1;
    write_file(shard, flipped);
    const Dataset dataset = penstock::open(folder / "set");
    verify_shard(dataset, 0);
    CHECK_THROWS_WITH_AS(verify_shard(dataset, 1), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("a flipped byte anywhere in an index is noticed by open or by verify_shard") {
    for (std::size_t i = 0; i < index_bytes.size(); i += 5) {
      std::string flipped = index_bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
      write_file(index, flipped);
      CHECK_THROWS_AS(verify_shard(penstock::open(folder / "set"), 1), Error);
    }
  }
  SUBCASE("a manifest cut anywhere is an error") {
    const std::string manifest = read_file(folder / "set" / "penstock.json");
    for (std::size_t length = 0; length + 2 < manifest.size(); length += 11) {
      write_file(folder / "set" / "penstock.json", manifest.substr(0, length));
      CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("penstock.json"), Error);
    }
  }
  SUBCASE("a manifest that names files elsewhere is an error") {
    std::string manifest = read_file(folder / "set" / "penstock.json");
    manifest.replace(manifest.find("shard-000001.tar"), 16, "../shard-0001.tar");
    write_file(folder / "set" / "penstock.json", manifest);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("invalid name of a shard"), Error);
  }
}

}  // namespace penstock::test::dataset_writer_faults_test
