// Writes a dataset of made samples, interrupts the writing, and compares the result.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/io/crc32c.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/packed.hpp>
#include <penstock/dataset.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test {

inline constexpr std::uint64_t kSamples = 40;

inline std::string key_of(std::uint64_t i) {
  return "class/" + std::to_string(1000 + i);
}

inline std::string value_of(std::uint64_t i) {
  return std::string(1500 + i * 37 % 900, static_cast<char>('a' + i % 26));
}

/// Shards of about four samples.
inline DatasetWriterOptions small_shards() {
  DatasetWriterOptions options;
  options.shard_size = 16 << 10;
  options.fields = {{.name = "bin", .codec = ""}, {.name = "cls", .codec = "cls"}};
  options.classes = {"cat", "dog"};
  options.made_with = R"({"source": "test"})";
  return options;
}

/// The same, each completed on another thread while the next one fills.
inline DatasetWriterOptions completed_in_background() {
  DatasetWriterOptions options = small_shards();
  options.in_background = [](std::function<void()> work) { return std::async(std::launch::async, std::move(work)); };
  return options;
}

/// Sample i.
inline void add(DatasetWriter& writer, std::uint64_t i) {
  const std::string value = value_of(i), cls = std::to_string(i % 2);
  const std::vector<FieldValue> fields{
      {.field = 0, .bytes = bytes_of(value), .crc32c = crc32c(bytes_of(value)), .header = bytes_of("head")},
      {.field = 1, .bytes = bytes_of(cls), .crc32c = crc32c(bytes_of(cls)), .header = {}}};
  writer.add(key_of(i), fields);
}

/// All kSamples, but for those that are resumed.
inline void write_all_samples(const std::filesystem::path& destination, const DatasetWriterOptions& options) {
  DatasetWriter writer(destination, options);
  for (std::uint64_t i = writer.resumed_samples(); i < kSamples; ++i) add(writer, i);
  writer.finish();
}

/// That a dataset is what write_all_samples() wrote.
inline void check_content(const std::filesystem::path& destination) {
  const Dataset dataset = open(destination);
  CHECK(dataset.packed());
  REQUIRE(dataset.size() == kSamples);
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    REQUIRE(dataset.key(i) == key_of(i));
    const std::vector<std::byte> bytes = read_field(dataset, i, *dataset.field("bin"));
    REQUIRE(text_of(bytes) == value_of(i));
    REQUIRE(dataset.crc32c(i, *dataset.field("bin")) == crc32c(bytes));
    REQUIRE(text_of(read_field(dataset, i, *dataset.field("cls"))) == std::to_string(i % 2));
    REQUIRE(text_of(dataset.header(i, *dataset.field("bin"))) == "head");
  }
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) verify_shard(dataset, shard);
}

/// Every file of a folder, by name.
inline std::vector<std::pair<std::string, std::string>> content_of(const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files.emplace_back(entry.path().lexically_relative(folder).string(), read_file(entry.path()));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Packs in a child process that is killed behind sample `stop`, as by a power cut: nothing is cleaned up.
inline void pack_and_die(const std::filesystem::path& destination, const DatasetWriterOptions& options,
                         std::uint64_t stop) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    DatasetWriter writer(destination, options);
    for (std::uint64_t i = writer.resumed_samples(); i < stop; ++i) add(writer, i);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace penstock::test
