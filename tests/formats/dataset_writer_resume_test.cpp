// Tests runs that were killed, and the resumes that go on behind their last whole shard.
#include <cstdint>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/journal.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/dataset_writing.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::dataset_writer_resume_test {

namespace fs = std::filesystem;

TEST_CASE("killed behind any sample and resumed, the dataset has the bytes of an uninterrupted run") {
  const TemporaryFolder folder;
  write_all_samples(folder / "whole", small_shards());
  const auto expected = content_of(folder / "whole");
  DatasetWriterOptions options;
  std::uint64_t lost = 0;  // at most
  SUBCASE("each shard is completed before the next begins") {
    options = small_shards();
    lost = 12;  // of the shard that was open
  }
  SUBCASE("shards are completed aside") {
    options = completed_in_background();
    lost = 24;  // of that one and the one before
  }
  for (std::uint64_t stop = 0; stop < kSamples; ++stop) {
    CAPTURE(stop);
    const fs::path destination = folder / ("killed" + std::to_string(stop));
    options.resume = false;
    pack_and_die(destination, options, stop);
    REQUIRE_FALSE(fs::exists(destination));
    CHECK_THROWS_WITH_AS(penstock::open(destination), doctest::Contains("pack --resume"), Error);
    CHECK_THROWS_WITH_AS(penstock::open(destination.string() + ".partial"), doctest::Contains("pack --resume"), Error);
    CHECK_THROWS_WITH_AS(DatasetWriter(destination, small_shards()), doctest::Contains("resume"), Error);
    options.resume = true;
    {
      DatasetWriter writer(destination, options);
      CHECK(writer.resumed_samples() <= stop);
      CHECK(writer.resumed_samples() + lost >= stop);
      for (std::uint64_t i = writer.resumed_samples(); i < kSamples; ++i) add(writer, i);
      writer.finish();
    }
    REQUIRE(content_of(destination) == expected);
  }
}

TEST_CASE("a whole shard of an interrupted run that was damaged since is packed again") {
  const TemporaryFolder folder;
  pack_and_die(folder / "set", small_shards(), 30);
  fs::resize_file(folder / "set.partial" / "shard-000001.tar", 100);
  DatasetWriterOptions options = small_shards();
  options.resume = true;
  {
    DatasetWriter writer(folder / "set", options);
    CHECK(writer.resumed_samples() > 0);
    CHECK(writer.resumed_samples() < 12);
    CHECK_FALSE(fs::exists(folder / "set.partial" / "shard-000002.tar"));
  }
  write_file(folder / "set.partial" / "shard-000000.idx", "broken");
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
}

TEST_CASE("a journal cut at any length is resumed or refused, and the result is the same") {
  const TemporaryFolder folder;
  write_all_samples(folder / "whole", small_shards());
  const auto expected = content_of(folder / "whole");
  pack_and_die(folder / "set", small_shards(), 16);
  const std::string journal = read_file(folder / "set.partial" / Journal::kFileName);
  DatasetWriterOptions options = small_shards();
  options.resume = true;
  for (std::size_t length = 0; length < journal.size(); length += 7) {
    CAPTURE(length);
    const std::string name = "copy" + std::to_string(length);
    fs::copy(folder / "set.partial", folder / (name + ".partial"), fs::copy_options::recursive);
    fs::resize_file(folder / (name + ".partial") / Journal::kFileName, length);
    if (length != 0 && length <= journal.find('\n')) {
      CHECK_THROWS_AS(DatasetWriter(folder / name, options), Error);
    } else {
      write_all_samples(folder / name, options);
      REQUIRE(content_of(folder / name) == expected);
    }
  }
}

TEST_CASE("a resume with other options is refused and says which") {
  const TemporaryFolder folder;
  pack_and_die(folder / "set", small_shards(), 10);
  const auto before = content_of(folder / "set.partial");
  DatasetWriterOptions options = small_shards();
  options.resume = true;
  options.shard_size = 1 << 20;
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("shard_size was 16384, now 1048576"),
                       Error);
  options = small_shards();
  options.resume = true;
  options.made_with = R"({"source": "other"})";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("made_with"), Error);
  CHECK(content_of(folder / "set.partial") == before);
}

TEST_CASE("two processes do not pack into one destination") {
  const TemporaryFolder folder;
  DatasetWriter first(folder / "set", small_shards());
  for (const bool resume : {false, true}) {
    DatasetWriterOptions options = small_shards();
    options.resume = resume;
    options.overwrite = !resume;
    CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("another process"), Error);
  }
  add(first, 0);
  first.finish();
  CHECK(penstock::open(folder / "set").size() == 1);
}

TEST_CASE("a run that died between its last steps is finished by a resume") {
  const TemporaryFolder folder;
  write_all_samples(folder / "whole", small_shards());
  const auto expected = content_of(folder / "whole");
  DatasetWriterOptions options = small_shards();
  options.resume = true;

  SUBCASE("the manifest was written, the folder not renamed") {
    pack_and_die(folder / "set", small_shards(), 30);
    write_file(folder / "set.partial" / "penstock.json", "{}");
    write_all_samples(folder / "set", options);
  }
  SUBCASE("the folder was renamed, the journal not removed") {
    write_all_samples(folder / "set", small_shards());
    write_file(folder / "set" / Journal::kFileName, "{}\n");
    check_content(folder / "set");
    options.overwrite = true;
    write_all_samples(folder / "set", options);
  }
  SUBCASE("the replaced dataset was not removed") {
    write_all_samples(folder / "set.partial", small_shards());
    write_all_samples(folder / "set", options);
  }
  SUBCASE("the partial folder was made, the journal not") {
    fs::create_directories(folder / "set.partial");
    write_all_samples(folder / "set", options);
  }
  SUBCASE("a power cut left an empty journal, and what was written of the first shard") {
    pack_and_die(folder / "set", small_shards(), 3);
    fs::resize_file(folder / "set.partial" / Journal::kFileName, 0);
    write_all_samples(folder / "set", options);
  }
  CHECK(content_of(folder / "set") == expected);
  CHECK_FALSE(fs::exists(folder / "set.partial"));
}

}  // namespace penstock::test::dataset_writer_resume_test
