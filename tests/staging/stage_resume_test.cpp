// Tests interrupted staging: a copy is gone on with after any interruption, and only if it is a copy of its source.
#include <chrono>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include <base/thread.hpp>
#include <penstock/stage.hpp>

#include "support/staging.hpp"

namespace penstock::test::stage_resume_test {

namespace fs = std::filesystem;

TEST_CASE("a copy that was stopped anywhere goes on: whole files are kept, broken ones copied again") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  for (const char* format : {"tar", "mds"}) {
    const Dataset source = packed(open(folder / "files"), folder / format, format);
    const std::size_t all = visible_files(folder / format).size();
    REQUIRE(all > 6);
    for (const std::uint64_t files : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}}) {
      CAPTURE(files);
      const fs::path copy = folder / (std::string(format) + "-copy" + std::to_string(files));
      const Error error = error_of([&] {
        stage(source, copy,
              {.workers = 1,
               .checkpoint_bytes = 1,  // each file is put in place before the next one is read
               .wrap_engine = with_faults({.fail_file = files, .corrupt = true})});
      });
      CHECK(error.kind() == ErrorKind::corrupt);
      CHECK_FALSE(fs::exists(copy));
      CHECK(says(error_of([&] { open(copy); }), {"incomplete copy", "stage it again"}));
      // What a kill leaves: a temporary file cut short, and a torn line.
      write_file(copy.string() + ".partial/.penstock.json.staging", "{\"penst");
      std::ofstream(copy.string() + ".partial/.penstock-stage.jsonl", std::ios::app) << "{\"file\":\"shard-0";
      const StageResult result = stage(source, copy, {.workers = 2});
      CHECK(result.kept_files == files);
      CHECK(visible_files(copy) == visible_files(folder / format));
      CHECK(hidden_names(copy) == std::set<std::string>{".penstock-stage.jsonl"});
      check_equal(open(copy), source);
    }
  }
}

TEST_CASE("kept are the files whose bytes are right, and no others") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  const Dataset source = packed(open(folder / "files"), folder / "tar", "tar");
  const StageResult first = stage(source, folder / "copy");
  flip_byte(folder / "copy/shard-000001.tar", 700);  // of the same size
  fs::resize_file(folder / "copy/shard-000000.idx", 100);
  fs::remove(folder / "copy/penstock.json");
  const StageResult mended = stage(source, folder / "copy");
  CHECK(mended.kept_files == first.files - 3);
  CHECK(visible_files(folder / "copy") == visible_files(folder / "tar"));

  // A copy by other means: shards are known by penstock.json, the rest is copied again.
  fs::remove_all(folder / "copy");
  fs::copy(folder / "tar", folder / "copy", fs::copy_options::recursive);
  CHECK(stage(source, folder / "copy").kept_files == source.shard_count());
}

TEST_CASE("a source that grew, shrank or changed is staged again by what is new") {
  const TemporaryFolder folder;
  for (int i = 0; i < 20; ++i) write_file(folder / ("source/" + std::to_string(i) + ".txt"), std::to_string(i));
  stage(open(folder / "source"), folder / "copy");
  write_file(folder / "source/7.txt", "seven");
  write_file(folder / "source/21.txt", "21");
  fs::remove(folder / "source/3.txt");
  const StageResult result = stage(open(folder / "source"), folder / "copy");
  CHECK(result.kept_files == 18);
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));
  check_equal(open(folder / "copy"), open(folder / "source"));

  write_file(folder / "copy/mine.txt", "a file of the user's own");
  write_file(folder / "source/7.txt", "VII");
  CHECK(says(error_of([&] { stage(open(folder / "source"), folder / "copy"); }),
             {"mine.txt", "pass --overwrite (overwrite=True)"}));
  CHECK(fs::exists(folder / "copy.partial/mine.txt"));
  stage(open(folder / "source"), folder / "copy", {.overwrite = true});
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));
}

TEST_CASE("of a large file, what was written up to a checkpoint is kept, if it is still right") {
  const TemporaryFolder folder;
  write_large_npy(folder / "rows.npy", 128);  // 8 MiB
  const Dataset source = open(folder / "rows.npy");
  StageOptions options{.workers = 1, .engine = EngineKind::pread, .checkpoint_bytes = 2 << 20};
  const auto failing_at = [&](std::uint64_t offset) {
    StageOptions failing = options;
    failing.wrap_engine = with_faults({.fail_offset = offset, .error = EIO});
    return failing;
  };
  std::uint64_t copied = 0;
  const auto tell = [&](const StageProgress& now) {
    copied = now.copied_bytes;
    return true;
  };
  const fs::path copy = folder / "copy/rows.npy", temporary = folder / "copy/.rows.npy.staging";
  const auto size = fs::file_size(folder / "rows.npy");

  SUBCASE("as it was left") {
    CHECK(says(error_of([&] { stage(source, copy, failing_at(7 << 20)); }),
               {"rows.npy", "offset 7340032", "Input/output error"}));
    CHECK_FALSE(fs::exists(copy));
    stage(source, copy, options, tell);
    CHECK(copied == size - (6 << 20));
  }
  SUBCASE("cut short since: from the checkpoint before") {
    error_of([&] { stage(source, copy, failing_at(7 << 20)); });
    fs::resize_file(temporary, (4 << 20) + 17);
    stage(source, copy, options, tell);
    CHECK(copied == size - (4 << 20));
  }
  SUBCASE("damaged since: from the beginning") {
    error_of([&] { stage(source, copy, failing_at(7 << 20)); });
    flip_byte(temporary, 100);
    stage(source, copy, options, tell);
    CHECK(copied == size);
  }
  SUBCASE("of a source that changed since: from the beginning") {
    error_of([&] { stage(source, copy, failing_at(7 << 20)); });
    flip_byte(folder / "rows.npy", 200);
    stage(open(folder / "rows.npy"), copy, options, tell);
    CHECK(copied == size);
  }
  CHECK(read_file(copy) == read_file(folder / "rows.npy"));
  CHECK_FALSE(fs::exists(temporary));
}

TEST_CASE("told to stop, the copy ends at once and can be gone on with; what tell throws comes out") {
  const TemporaryFolder folder;
  write_large_npy(folder / "rows.npy", 64);
  const Dataset source = open(folder / "rows.npy");
  // A read that is never answered: only the wish to stop ends the run.
  const StageOptions hanging{.workers = 1, .wrap_engine = with_faults({.lose_nth = 0})};
  const auto begin = std::chrono::steady_clock::now();
  int calls = 0;
  const Error error =
      error_of([&] { stage(source, folder / "copy.npy", hanging, [&](const StageProgress&) { return ++calls < 5; }); });
  CHECK(says(error, {"interrupted"}));
  CHECK_THROWS_WITH_AS(stage(source, folder / "copy.npy", hanging,
                             [&](const StageProgress&) -> bool {
                               if (++calls < 10) return true;
                               throw std::runtime_error("the user's own");
                             }),
                       "the user's own", std::runtime_error);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  CHECK_FALSE(fs::exists(folder / "copy.npy"));
  stage(source, folder / "copy.npy");
  CHECK(read_file(folder / "copy.npy") == read_file(folder / "rows.npy"));
}

TEST_CASE("what is no copy of this dataset is neither gone on with nor replaced") {
  const TemporaryFolder folder;
  write_arrays(folder / "source", 10);
  write_arrays(folder / "other", 11);
  const Dataset source = open(folder / "source"), other = open(folder / "other");
  write_file(folder / "mine/thesis.txt", "mine");
  for (const bool overwrite : {false, true}) {
    CHECK(
        says(error_of([&] { stage(source, folder / "mine", {.overwrite = overwrite}); }), {"mine", "already exists"}));
  }
  CHECK(read_file(folder / "mine/thesis.txt") == "mine");
  CHECK(says(error_of([&] { stage(source, folder / "source"); }), {"is inside the dataset"}));
  CHECK(says(error_of([&] { stage(source, folder / "source/copy"); }), {"is inside the dataset"}));
  stage(other, folder / "copy");
  CHECK(says(error_of([&] { stage(source, folder / "copy"); }),
             {"is a copy of", "other", "overwrite=True) to replace it"}));
  stage(source, folder / "copy", {.overwrite = true});
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));
  write_file(folder / "next.partial/thesis.txt", "mine");
  CHECK(says(error_of([&] { stage(source, folder / "next"); }), {"next.partial", "was not made by staging"}));
  write_file(folder / "file", "mine");
  CHECK(error_of([&] { stage(source, folder / "file"); }).kind() == ErrorKind::invalid_argument);

  write_large_npy(folder / "rows.npy", 1);
  write_file(folder / "there.npy", "mine");
  const Dataset rows = open(folder / "rows.npy");
  CHECK(says(error_of([&] { stage(rows, folder / "there.npy"); }),
             {"already exists", "pass --overwrite (overwrite=True) to replace it"}));
  stage(rows, folder / "there.npy", {.overwrite = true});
  CHECK(read_file(folder / "there.npy") == read_file(folder / "rows.npy"));
  CHECK(says(error_of([&] { stage(rows, folder / "rows.npy"); }), {"the dataset itself"}));
  stage(rows, folder / "mine");  // a folder: the file goes into it
  CHECK(fs::exists(folder / "mine/rows.npy"));
}

TEST_CASE("two processes that stage to one place do the work once") {
  const TemporaryFolder folder;
  write_folder(folder / "files", 200);
  const Dataset source = open(folder / "files");
  StageResult results[2];
  {
    std::vector<Thread> threads;
    for (StageResult& result : results) {
      threads.emplace_back("stager", [&](const std::stop_token&) {
        result = stage(source, folder / "copy",
                       {.workers = 1, .wrap_engine = with_faults({.delay = std::chrono::milliseconds(2)})});
      });
    }
  }
  CHECK(results[0].files == results[1].files);
  CHECK(results[0].kept_files + results[1].kept_files == results[0].files);
  check_equal(open(folder / "copy"), source);
}

}  // namespace penstock::test::stage_resume_test
