// Tests datasets on a disk that are staged to a store: the same files, complete or absent, gone on with.
#include <cstdint>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/stage.hpp>

#include "support/dataset_writing.hpp"
#include "support/folder_store.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::store_target_test {

namespace fs = std::filesystem;

constexpr const char* kAddress = "s3://bucket/train";

struct Places {
  TemporaryFolder folder;
  FolderStore store{folder / "store"};
  fs::path train = folder / "store" / "bucket" / "train";

  explicit Places(const std::string& format = "tar") {
    fs::create_directories(folder / "store" / "bucket");
    DatasetWriterOptions options = small_shards();
    options.format = format;
    write_all_samples(folder / "local", options);
  }
  fs::path local() const { return folder / "local"; }
};

TEST_CASE("a packed dataset staged to a store has the same files, penstock.json last") {
  for (const std::string format : {"tar", "lmdb", "mds"}) {
    CAPTURE(format);
    Places places(format);
    std::string last;
    std::mutex mutex;
    places.store.before = [&](const std::string& verb, const std::string& address) {
      const std::scoped_lock lock(mutex);
      if (verb == "put") last = address;
    };
    const StageResult result = stage(open(places.local()), kAddress, {.workers = 3});
    CHECK(content_of(places.train) == content_of(places.local()));
    CHECK(last == "s3://bucket/train/penstock.json");
    CHECK(result.opens == kAddress);
    CHECK(result.files == content_of(places.local()).size());
    CHECK(result.kept_files == 0);
    places.store.before = {};
    const StageResult again = stage(open(places.local()), kAddress);
    CHECK(again.kept_files == again.files);
    CHECK(again.kept_bytes == again.bytes);
    fs::remove(places.train / "shard-000001.idx");
    CHECK_THROWS_WITH_AS(stage(open(places.local()), kAddress), doctest::Contains("pass --overwrite (overwrite=True)"),
                         Error);
    stage(open(places.local()), kAddress, {.overwrite = true});
    CHECK(content_of(places.train) == content_of(places.local()));
  }
}

TEST_CASE("whatever request fails, penstock.json is absent, and the same call goes on") {
  Places places;
  stage(open(places.local()), kAddress, {.workers = 1});
  const std::uint64_t all = places.store.requests;
  REQUIRE(all > 20);
  const auto expected = content_of(places.local());
  std::uint64_t kept = 0;
  for (std::uint64_t failing = 0; failing < all; ++failing) {
    CAPTURE(failing);
    fs::remove_all(places.train);
    const std::uint64_t begin = places.store.requests;
    places.store.before = [&](const std::string&, const std::string& address) {
      if (places.store.requests - begin == failing + 1) throw Error::io(EIO, "no answer", {.dataset = address});
    };
    CHECK_THROWS_WITH_AS(stage(open(places.local()), kAddress, {.workers = 1}), doctest::Contains("no answer"), Error);
    places.store.before = {};
    CHECK((!fs::exists(places.train / "penstock.json") || failing == all - 1));
    kept += stage(open(places.local()), kAddress, {.workers = 2}).kept_files;
    fs::remove(places.train / "penstock.staging.jsonl");  // where its removal was what failed
    CHECK(content_of(places.train) == expected);
  }
  CHECK(kept > all);
}

TEST_CASE("bytes that are not those penstock.json knows of are not sent") {
  Places places;
  const Dataset dataset = open(places.local());
  std::string shard = read_file(places.local() / "shard-000001.tar");
  shard[600] = static_cast<char>(shard[600] ^ 1);
  write_file(places.local() / "shard-000001.tar", shard);
  CHECK_THROWS_WITH_AS(stage(dataset, kAddress), doctest::Contains("checksum of the shard"), Error);
  CHECK_FALSE(fs::exists(places.train / "shard-000001.tar"));
  CHECK_FALSE(fs::exists(places.train / "penstock.json"));
}

TEST_CASE("what is none of the dataset is in the way") {
  Places places;
  write_file(places.train / "notes.txt", "mine");
  CHECK_THROWS_WITH_AS(stage(open(places.local()), kAddress), doctest::Contains("already exists"), Error);
  Places other("zip");
  write_all_samples("s3://bucket/train", [&] {
    DatasetWriterOptions options = small_shards();
    options.classes = {"others", "own"};
    options.spool = other.folder / "spool";
    return options;
  }());
  CHECK_THROWS_WITH_AS(stage(open(other.local()), kAddress), doctest::Contains("already exists"), Error);
}

TEST_CASE("shards that others packed are staged under their names, one file also under another") {
  Places places;
  fs::create_directories(places.folder / "theirs");
  for (const std::string name : {"shard-000000.tar", "shard-000001.tar"})
    fs::copy_file(places.local() / name, places.folder / "theirs" / name);
  stage(open(places.folder / "theirs"), kAddress);
  CHECK(read_file(places.train / "shard-000001.tar") == read_file(places.local() / "shard-000001.tar"));
  CHECK(stage(open(places.folder / "theirs" / "shard-000000.tar"), "s3://bucket/one/").opens ==
        "s3://bucket/one/shard-000000.tar");
  CHECK(stage(open(places.folder / "theirs" / "shard-000000.tar"), "s3://bucket/first.tar").opens ==
        "s3://bucket/first.tar");
  CHECK(read_file(places.folder / "store" / "bucket" / "first.tar") == read_file(places.local() / "shard-000000.tar"));
}

}  // namespace penstock::test::store_target_test
