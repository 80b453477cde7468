// Tests staging: a copy opens as its source does, with all that belongs to it.
#include <set>

#include <doctest/doctest.h>

#include <formats/sidecar/sidecar.hpp>
#include <penstock/stage.hpp>
#include <storage/uring/uring_engine.hpp>

#include "support/refuse_uring.hpp"
#include "support/staging.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::stage_test {

namespace fs = std::filesystem;

TEST_CASE("every packing is staged whole, with every engine, and staged again costs no copy") {
  const TemporaryFolder folder;
  write_folder(folder / "source");
  const Dataset source = open(folder / "source");
  std::vector<EngineKind> engines{EngineKind::automatic, EngineKind::pread, EngineKind::in_worker};
  if (uring_refusal() == 0) engines.push_back(EngineKind::io_uring);
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const Dataset original = packed(source, folder / format, format);
    if (format == "lmdb") write_file(folder / "lmdb/shard-000000.lmdb/lock.mdb", "stale");
    for (const EngineKind engine : engines) {
      CAPTURE(name(engine));
      const fs::path copy = folder / (format + "-" + std::string(name(engine)));
      const StageResult result = stage(original, copy, {.workers = 2, .engine = engine});
      CHECK(result.kept_files == 0);
      CHECK(result.files == visible_files(copy).size());
      CHECK(result.opens == copy);
      if (engine != EngineKind::automatic) CHECK(result.engine == engine);
      auto expected = visible_files(folder / format);
      expected.erase("shard-000000.lmdb/lock.mdb");
      CHECK(visible_files(copy) == expected);
      CHECK(hidden_names(copy) == std::set<std::string>{".penstock-stage.jsonl"});
      CHECK_FALSE(fs::exists(copy.string() + ".partial"));
      CHECK_FALSE(fs::exists(copy.string() + ".partial.lock"));
      check_equal(open(copy), original);

      const StageResult again = stage(original, copy, {.workers = 2, .engine = engine});
      CHECK(again.kept_files == result.files);
      CHECK(again.kept_bytes == result.bytes);
      CHECK(again.engine == EngineKind::automatic);  // nothing was read
    }
  }
}

TEST_CASE("without io_uring, pread threads copy the same bytes and the reason is told") {
  const TemporaryFolder folder;
  write_arrays(folder / "source", 50);
  const std::string told = with_uring_refused(EPERM, [&] {
    const StageResult result = stage(open(folder / "source"), folder / "copy");
    return std::string(name(result.engine)) + ": " + result.engine_reason;
  });
  CHECK(told == "pread: io_uring refused: EPERM");
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));
}

TEST_CASE("a folder of files comes with all that is visible, empty class folders, and its sidecar") {
  const TemporaryFolder folder;
  for (int i = 0; i < 300; ++i) write_file(folder / ("source/b/" + std::to_string(i) + ".png"), std::to_string(i));
  write_file(folder / "source/d/empty.png", "");
  write_file(folder / "source/labels.csv", "key,label\n");
  fs::create_directories(folder / "source/a");
  const Dataset source = open(folder / "source");
  REQUIRE(source.classes().size() == 3);
  stage(source, folder / "copy/");
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));
  CHECK(read_file(folder / "copy/.penstock-idx") == read_file(folder / "source/.penstock-idx"));
  const auto made = fs::last_write_time(folder / "copy/.penstock-idx");
  const Dataset copy = open(folder / "copy");
  CHECK(fs::last_write_time(folder / "copy/.penstock-idx") == made);  // it opened without indexing
  CHECK(std::vector(copy.classes().begin(), copy.classes().end()) ==
        std::vector(source.classes().begin(), source.classes().end()));
  check_equal(copy, source);
}

TEST_CASE("shards that others packed come with their sidecars, as a folder, a file and a pattern") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  const Dataset files = open(folder / "files");
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    packed(files, folder / "packed", format);
    fs::create_directories(folder / "foreign");
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "packed")) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".idx") || name == "penstock.json") continue;
      fs::rename(entry.path(), folder / "foreign" / name);
      if (name != "index.json") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    REQUIRE(names.size() > 1);

    const Dataset source = open(folder / "foreign");
    stage(source, folder / "copy", {.workers = 2});
    CHECK(visible_files(folder / "copy") == visible_files(folder / "foreign"));
    for (const fs::path& shard : format_named(source.format())->find_shards(folder / "copy")) {
      CAPTURE(shard);
      CHECK(fs::exists(sidecar_paths(shard).front()));
    }
    check_equal(open(folder / "copy"), source);
    CHECK(stage(source, folder / "copy").kept_files == visible_files(folder / "copy").size());

    if (format == "mds") {
      const Dataset by_index = open(folder / "foreign/index.json");
      stage(by_index, folder / "one");
      check_equal(open(folder / "one"), by_index);
    } else {
      const Dataset one = open(folder / "foreign" / names.front());
      stage(one, folder / "one" / names.front());
      CHECK(stage(one, folder / "one" / names.front()).kept_files == 1);
      const auto sidecar = sidecar_paths(folder / "one" / names.front()).front();
      constexpr std::size_t kHeader = 64;  // with the identities of the files, which a copy has its own of
      CHECK(read_file(sidecar).substr(kHeader) ==
            read_file(sidecar_paths(folder / "foreign" / names.front()).front()).substr(kHeader));
      const std::filesystem::file_time_type stamped = fs::last_write_time(sidecar);
      check_equal(open(folder / "one" / names.front()), one);
      CHECK(fs::last_write_time(sidecar) == stamped);  // staging has proved the copy, and nobody has to again

      const std::string numbers = "shard-{000001,000000}" + fs::path(names.front()).extension().string();
      const Dataset some = open(folder / "foreign" / numbers);
      const StageResult result = stage(some, folder / "some");
      CHECK(result.opens == folder / "some" / numbers);
      check_equal(open(result.opens), some);
    }
    for (const char* name : {"packed", "foreign", "copy", "one", "some"}) fs::remove_all(folder / name);
  }
}

}  // namespace penstock::test::stage_test
