// Tests staging with a time limit: links to the source stand for the files that were not copied in time.
#include <chrono>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <base/thread.hpp>
#include <penstock/stage.hpp>

#include "support/staging.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::stage_within_test {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

// The storage does not answer the request with this number, nor any later one of this worker.
StageOptions hanging_at(std::uint64_t request, double seconds = 0.4) {
  return {.workers = 1,
          .within = Seconds(seconds),
          .checkpoint_bytes = 1,  // each file is put in place before the next one is read
          .wrap_engine = with_faults({.lose_nth = request})};
}

std::map<std::string, std::string> links_in(const fs::path& folder) {
  std::map<std::string, std::string> links;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_symlink())
      links[entry.path().lexically_relative(folder).string()] = fs::read_symlink(entry.path()).string();
  return links;
}

}  // namespace

TEST_CASE("a copy that runs out of time opens as its source, with links to the files that are not copied") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  const Dataset files = open(folder / "files");
  std::vector<std::pair<std::string, Dataset>> sources{{"files", files}};
  for (const std::string& format : written_formats()) {
    sources.emplace_back(format, packed(files, folder / format, format));
    fs::copy(folder / format, folder / (format + "-foreign"), fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder / (format + "-foreign")))
      if (entry.path().extension() == ".idx" || entry.path().filename() == "penstock.json") fs::remove(entry.path());
    sources.emplace_back(format + "-foreign", open(folder / (format + "-foreign")));
  }
  for (const auto& [name, source] : sources) {
    CAPTURE(name);
    const fs::path copy = folder / (name + "-copy");
    const StageResult cut = stage(source, copy, hanging_at(3));
    CHECK(cut.opens == copy);
    CHECK(cut.linked_files > 0);
    CHECK(cut.copied_files() > 0);
    CHECK(cut.linked_bytes + cut.copied_bytes() == cut.bytes);
    CHECK(links_in(copy).size() == cut.linked_files);
    for (const auto& [link, target] : links_in(copy)) CHECK(target == (folder / name / link).string());
    CHECK_FALSE(fs::exists(copy.string() + ".partial"));
    check_equal(open(copy), source);

    const StageResult rest = stage(source, copy);
    CHECK(rest.kept_files == cut.copied_files());
    CHECK(rest.linked_files == 0);
    CHECK(links_in(copy).empty());
    for (const std::string& hidden : hidden_names(copy)) CHECK_FALSE(hidden.ends_with(".staging"));
    CHECK(visible_files(copy) == visible_files(folder / name));
    check_equal(open(copy), source);
  }
}

TEST_CASE("a single file without enough time is a link, and is copied by the next call") {
  const TemporaryFolder folder;
  write_large_npy(folder / "rows.npy", 64);  // 4 MiB
  const Dataset source = open(folder / "rows.npy");
  const fs::path copy = folder / "local/rows.npy";
  StageOptions options = hanging_at(3);
  options.checkpoint_bytes = 1 << 20;
  CHECK(stage(source, copy, options).linked_files == 1);
  CHECK(fs::read_symlink(copy) == folder / "rows.npy");
  check_equal(open(copy), source);
  CHECK(fs::exists(folder / "local/.rows.npy.staging"));  // with checkpoints
  std::uint64_t copied = 0;
  stage(source, copy, {.workers = 1, .checkpoint_bytes = 1 << 20}, [&](const StageProgress& now) {
    copied = now.copied_bytes;
    return true;
  });
  CHECK(copied < fs::file_size(copy));
  CHECK_FALSE(fs::is_symlink(copy));
  CHECK(read_file(copy) == read_file(folder / "rows.npy"));
  CHECK(hidden_names(folder / "local").size() == 1);
}

TEST_CASE("a file that is too small for checkpoints leaves nothing but the link") {
  const TemporaryFolder folder;
  write_arrays(folder / "files", 20);
  const Dataset source = packed(open(folder / "files"), folder / "tar", "tar");
  CHECK(stage(source, folder / "copy",
              {.workers = 1, .within = Seconds(0.4), .wrap_engine = with_faults({.lose_nth = 0})})
            .linked_files > 0);
  CHECK(hidden_names(folder / "copy") == std::set<std::string>{".penstock-stage.jsonl"});
}

TEST_CASE("without time to compare them, files of an earlier copy are kept; damaged ones that were compared are not") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  const Dataset source = packed(open(folder / "files"), folder / "tar", "tar");
  const StageResult first = stage(source, folder / "copy");
  const StageResult again = stage(source, folder / "copy", {.within = Seconds(0)});
  CHECK(again.kept_files == first.files);
  CHECK(again.linked_files == 0);
  flip_byte(folder / "copy/shard-000001.tar", 700);
  const StageResult mended = stage(source, folder / "copy", hanging_at(0));
  CHECK(mended.linked_files == 1);
  CHECK(links_in(folder / "copy").contains("shard-000001.tar"));
  check_equal(open(folder / "copy"), source);
  CHECK(stage(source, folder / "copy", {.overwrite = true, .within = Seconds(0)}).linked_files == first.files);
  check_equal(open(folder / "copy"), source);
  stage(source, folder / "copy", {.within = Seconds(3600)});
  CHECK(links_in(folder / "copy").empty());
}

TEST_CASE("a process that waited for another one with a time limit accepts its links") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  const Dataset source = packed(open(folder / "files"), folder / "tar", "tar");
  StageResult results[3];
  {
    std::vector<Thread> threads;
    for (StageResult& result : results) {
      threads.emplace_back(
          "stager", [&](const std::stop_token&) { result = stage(source, folder / "copy", hanging_at(4, 1.0)); });
    }
  }
  std::uint64_t copied = 0;
  for (const StageResult& result : results) {
    CHECK(result.linked_files == results[0].linked_files);
    CHECK(result.linked_files > 0);
    copied += result.copied_files();
  }
  CHECK(copied == results[0].files - results[0].linked_files);
  check_equal(open(folder / "copy"), source);
}

TEST_CASE("a time limit is refused for stores, and if it is negative") {
  const TemporaryFolder folder;
  write_arrays(folder / "source", 3);
  const Dataset source = open(folder / "source");
  CHECK(says(error_of([&] { stage(source, "s3://bucket/copy", {.within = Seconds(1)}); }), {"within", "file systems"}));
  CHECK(says(error_of([&] { stage(source, folder / "copy", {.within = Seconds(-1)}); }), {"within", "-1"}));
  CHECK_FALSE(fs::exists(folder / "copy.partial"));
}

}  // namespace penstock::test::stage_within_test
