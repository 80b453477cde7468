// Tests datasets that are packed into a store: complete or absent, with the bytes of those on a disk.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/packed/dataset_upload.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/dataset_writing.hpp"
#include "support/folder_store.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::dataset_upload_test {

namespace fs = std::filesystem;

constexpr const char* kAddress = "s3://bucket/train";

/// A store, and where shards wait for it.
struct Places {
  TemporaryFolder folder;
  FolderStore store{folder / "store"};
  fs::path train = folder / "store" / "bucket" / "train";

  explicit Places() { fs::create_directories(folder / "store" / "bucket"); }

  DatasetWriterOptions options(const std::string& format = "tar", bool aside = false) const {
    DatasetWriterOptions options = aside ? completed_in_background() : small_shards();
    options.format = format;
    options.spool = folder / "spool";
    return options;
  }
  /// Nothing is left on the disk.
  void check_spool() const {
    if (fs::exists(folder / "spool")) CHECK(fs::is_empty(folder / "spool"));
  }
  bool complete() const { return fs::exists(train / "penstock.json"); }
};

const std::vector<std::string> kFormats{"tar", "zip", "tfrecord", "mds", "hdf5", "lmdb"};

TEST_CASE("a dataset packed into a store has the bytes of one on a disk") {
  for (const std::string& format : kFormats) {
    for (const bool aside : {false, true}) {
      CAPTURE(format);
      CAPTURE(aside);
      Places places;
      const DatasetWriterOptions options = places.options(format, aside);
      write_all_samples(places.folder / "local", options);
      std::vector<std::string> put;
      places.store.before = [&](const std::string& verb, const std::string& address) {
        if (verb == "put" && (put.empty() || put.back() != address)) put.push_back(address);
      };
      write_all_samples(kAddress, options);
      CHECK(content_of(places.train) == content_of(places.folder / "local"));
      check_content(places.train);
      places.check_spool();
      CHECK(put.front() == "s3://bucket/train/penstock.partial.jsonl");
      CHECK(put.back() == "s3://bucket/train/penstock.json");
    }
  }
}

TEST_CASE("what is in the way at the address is not replaced unasked") {
  Places places;
  write_all_samples(kAddress, places.options());
  const auto before = content_of(places.train);
  CHECK_THROWS_WITH_AS(DatasetWriter(kAddress, places.options()), doctest::Contains("already exists"), Error);
  CHECK_THROWS_WITH_AS(DatasetWriter("s3:/bucket/train/", places.options()), doctest::Contains("already exists"),
                       Error);
  CHECK_THROWS_WITH_AS(DatasetWriter::require_free(kAddress, "tar", false), doctest::Contains("s3://bucket/train"),
                       Error);
  CHECK(content_of(places.train) == before);

  write_file(places.train / "notes.txt", "mine");
  DatasetWriterOptions options = places.options("zip");
  options.overwrite = true;
  write_all_samples(kAddress, options);
  CHECK(fs::exists(places.train / "notes.txt"));  // what is none of penstock's stays
  CHECK_FALSE(fs::exists(places.train / "shard-000000.tar"));
  fs::remove(places.train / "notes.txt");
  write_all_samples(places.folder / "local", places.options("zip"));
  CHECK(content_of(places.train) == content_of(places.folder / "local"));

  write_file(places.folder / "store" / "bucket" / "other" / "notes.txt", "mine");
  CHECK_THROWS_WITH_AS(DatasetWriter("s3://bucket/other", places.options()), doctest::Contains("notes.txt"), Error);
  CHECK_THROWS_WITH_AS(DatasetWriter("s3://bucket/other", options), doctest::Contains("notes.txt"), Error);
}

TEST_CASE("a run that dies is resumed behind its whole shards, on a machine that has nothing of it") {
  for (const std::string& format : kFormats) {
    Places places;
    write_all_samples(places.folder / "local", places.options(format));
    const auto expected = content_of(places.folder / "local");
    for (const std::uint64_t stop : {0U, 1U, 9U, 22U, 39U}) {
      CAPTURE(format);
      CAPTURE(stop);
      fs::remove_all(places.train);
      DatasetWriterOptions options = places.options(format);
      pack_and_die(kAddress, options, stop);
      CHECK_FALSE(places.complete());
      CHECK_THROWS_WITH_AS(DatasetWriter(kAddress, options), doctest::Contains("--resume"), Error);
      fs::remove_all(places.folder / "spool");
      options.resume = true;
      {
        DatasetWriter writer(kAddress, options);
        CHECK(writer.resumed_samples() <= stop);
        CHECK(writer.resumed_samples() + 12 >= stop);
        for (std::uint64_t i = writer.resumed_samples(); i < kSamples; ++i) add(writer, i);
        writer.finish();
      }
      CHECK(content_of(places.train) == expected);
      places.check_spool();
    }
  }
}

TEST_CASE("whatever request fails, the dataset is absent, and a resume completes it") {
  Places places;
  write_all_samples(places.folder / "local", places.options("mds"));
  const auto expected = content_of(places.folder / "local");
  std::uint64_t all = 0;
  {
    write_all_samples(kAddress, places.options("mds"));
    all = places.store.requests;
  }
  REQUIRE(all > 20);
  for (std::uint64_t failing = 0; failing < all; ++failing) {
    CAPTURE(failing);
    fs::remove_all(places.train);
    const std::uint64_t begin = places.store.requests;
    std::string failed;
    places.store.before = [&](const std::string& verb, const std::string& address) {
      if (places.store.requests - begin != failing + 1) return;
      failed = verb + " " + address;
      throw Error::io(EIO, "no answer", {.dataset = address});
    };
    bool threw = false;
    try {
      write_all_samples(kAddress, places.options("mds", failing % 2 == 1));
    } catch (const Error& error) {
      threw = true;
      CHECK(error.cause().find("no answer") != std::string::npos);
    }
    places.store.before = {};
    CAPTURE(failed);
    CHECK(threw != places.complete());
    places.check_spool();
    if (threw) {
      DatasetWriterOptions options = places.options("mds");
      options.resume = true;
      write_all_samples(kAddress, options);
    }
    fs::remove(places.train / "penstock.partial.jsonl");  // where its removal was what failed
    CHECK(content_of(places.train) == expected);
  }
}

TEST_CASE("whole shards that were damaged or removed since are packed again") {
  Places places;
  write_all_samples(places.folder / "local", places.options());
  const auto expected = content_of(places.folder / "local");
  DatasetWriterOptions options = places.options();
  options.resume = true;
  const auto resumed_after = [&](const std::function<void()>& damage) {
    fs::remove_all(places.train);
    pack_and_die(kAddress, places.options(), 30);
    damage();
    DatasetWriter writer(kAddress, options);
    const std::uint64_t resumed = writer.resumed_samples();
    for (std::uint64_t i = resumed; i < kSamples; ++i) add(writer, i);
    writer.finish();
    CHECK(content_of(places.train) == expected);
    return resumed;
  };
  const std::uint64_t all = resumed_after([] {});
  CHECK(all > 16);
  CHECK(resumed_after([&] { fs::resize_file(places.train / "shard-000001.tar", 100); }) < 16);
  CHECK(resumed_after([&] { fs::remove(places.train / "shard-000001.idx"); }) < 16);
  CHECK(resumed_after([&] { write_file(places.train / "shard-000000.idx", "broken"); }) == 0);
  CHECK(resumed_after([&] { write_file(places.train / "penstock.partial.jsonl", "broken"); }) == 0);
  CHECK(resumed_after([&] { write_file(places.train / "shard-000099.tar", "of another run"); }) == all);
}

TEST_CASE("of two runs that pack into one address the first one ends with an error") {
  Places places;
  DatasetWriter first(kAddress, places.options());
  for (std::uint64_t i = 0; i < 20; ++i) add(first, i);
  DatasetWriterOptions options = places.options();
  options.overwrite = true;
  DatasetWriter second(kAddress, options);
  CHECK_THROWS_WITH_AS(
      [&] {
        for (std::uint64_t i = 20; i < kSamples; ++i) add(first, i);
        first.finish();
      }(),
      doctest::Contains("another process is packing"), Error);
  for (std::uint64_t i = 0; i < kSamples; ++i) add(second, i);
  second.finish();
  write_all_samples(places.folder / "local", places.options());
  CHECK(content_of(places.train) == content_of(places.folder / "local"));
}

TEST_CASE("a failure leaves nothing where nothing is to be kept") {
  Places places;
  DatasetWriterOptions options = places.options();
  options.keep_unfinished = false;
  {
    DatasetWriter writer(kAddress, options);
    for (std::uint64_t i = 0; i < 30; ++i) add(writer, i);
    CHECK(fs::exists(places.train / "shard-000000.tar"));
  }
  CHECK(fs::is_empty(places.train));
  places.check_spool();
}

TEST_CASE("an interruption ends what is being sent") {
  Places places;
  DatasetWriterOptions options = places.options("tar", true);
  std::atomic<bool> going_on{true};
  options.go_on = [&] { return going_on.load(); };
  std::atomic<int> puts{0};
  places.store.before = [&](const std::string& verb, const std::string& address) {
    if (verb != "put" || address.find(".tar") == std::string::npos || ++puts < 3) return;
    going_on = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  CHECK_THROWS_WITH_AS(write_all_samples(kAddress, options), doctest::Contains("interrupted"), Error);
  CHECK_FALSE(places.complete());
  places.check_spool();
  places.store.before = {};
  options.go_on = {};
  options.resume = true;
  write_all_samples(kAddress, options);
  write_all_samples(places.folder / "local", places.options());
  CHECK(content_of(places.train) == content_of(places.folder / "local"));
}

}  // namespace penstock::test::dataset_upload_test
