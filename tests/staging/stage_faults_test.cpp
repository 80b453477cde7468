// Tests faults while staging: errors of source, reads or disk name their place, and stop nothing else.
#include <fstream>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <penstock/stage.hpp>

#include "support/file_size_limit.hpp"
#include "support/staging.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::stage_faults_test {

namespace fs = std::filesystem;

TEST_CASE("a flipped byte in the source is reported with shard, key, field and offset, and stops nothing else") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    Dataset source = packed(open(folder / "files"), folder / format, format);
    const std::uint32_t jpg = source.field("jpg").value();
    std::vector<Piece> pieces;
    std::uint64_t sample = source.size();
    while (source.length(--sample, jpg) != 9000) {
    }
    REQUIRE(source.locate(sample, jpg, pieces));
    const Extent extent = pieces.front().extent;
    flip_byte(source.file(extent.file).path, extent.offset + 4000);
    source = open(folder / format);  // what was open before would say that its file was written to
    const fs::path copy = folder / (format + "-copy");
    const Error error = error_of([&] { stage(source, copy); });
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(says(error, {(folder / format).string(), source.shard(source.shard_of(sample)).name,
                       "sample " + std::string(source.key(sample)), "field jpg",
                       "offset " + std::to_string(extent.offset), "CRC-32C"}));
    CHECK_FALSE(fs::exists(copy));
    CHECK_NOTHROW(stage(source, copy, {.verify = StageVerify::never}));  // as it is, if that is wanted
    CHECK(visible_files(copy) == visible_files(folder / format));
  }
}

TEST_CASE("reads that fail for a moment are tried again; those that go on failing are told once, with the file") {
  const TemporaryFolder folder;
  write_arrays(folder / "source", 40);
  const Dataset source = open(folder / "source");
  for (const unsigned times : {1U, 2U}) {
    const fs::path copy = folder / ("copy-" + std::to_string(times));
    stage(source, copy, {.wrap_engine = with_faults({.fail_file = 7, .times = times})});
    CHECK(visible_files(copy) == visible_files(folder / "source"));
  }
  const Error broken = error_of([&] {  // what is no failed read is told at once
    stage(source, folder / "broken", {.wrap_engine = with_faults({.fail_file = 7, .corrupt = true, .times = 1})});
  });
  CHECK(broken.kind() == ErrorKind::corrupt);

  const Error error = error_of([&] {
    stage(source, folder / "other", {.wrap_engine = with_faults({.fail_file = 7, .error = EIO, .times = 3})});
  });
  CHECK(error.kind() == ErrorKind::io);
  CHECK(says(error, {"source", "file 7", "offset 0", "Input/output error"}));
}

TEST_CASE("a source that changes while it is copied is told with file and offset") {
  const TemporaryFolder folder;
  write_large_npy(folder / "rows.npy", 64);
  const Dataset source = open(folder / "rows.npy");
  const auto size = fs::file_size(folder / "rows.npy");
  // Once the copy has begun, before its first read.
  const auto change = [&](const std::function<void()>& work) {
    return [work](const FaultyEngine::Make& make, OnRead on_read) {
      work();
      return make(std::move(on_read));
    };
  };
  SUBCASE("it became shorter") {
    const Error error = error_of([&] {
      stage(source, folder / "copy.npy",
            {.wrap_engine = change([&] { fs::resize_file(folder / "rows.npy", 1'500'000); })});
    });
    CHECK(says(error, {"rows.npy", "offset 1500000", "changed while it was copied", std::to_string(size), "1500000"}));
  }
  SUBCASE("it became longer") {
    const Error error = error_of([&] {
      stage(source, folder / "copy.npy",
            {.wrap_engine = change([&] { std::ofstream(folder / "rows.npy", std::ios::app) << "more"; })});
    });
    CHECK(says(error, {"rows.npy", "offset " + std::to_string(size), "changed while it was copied"}));
  }
  SUBCASE("it was only touched") {
    CHECK_NOTHROW(stage(
        source, folder / "copy/rows.npy",
        {.wrap_engine = change([&] { fs::last_write_time(folder / "rows.npy", fs::file_time_type::clock::now()); })}));
  }
  SUBCASE("it was removed") {
    const Error error = error_of(
        [&] { stage(source, folder / "copy.npy", {.wrap_engine = change([&] { fs::remove(folder / "rows.npy"); })}); });
    CHECK(error.kind() == ErrorKind::io);
    CHECK(says(error, {"rows.npy", "No such file"}));
  }
  CHECK_FALSE(fs::exists(folder / "copy.npy"));
}

TEST_CASE("a full disk is one error that names file and offset, and leaves what can be gone on with") {
  const TemporaryFolder folder;
  write_large_npy(folder / "rows.npy", 64);
  const Dataset source = open(folder / "rows.npy");
  {
    const FileSizeLimit limit(2'500'000);
    const Error error =
        error_of([&] { stage(source, folder / "copy.npy", {.workers = 1, .checkpoint_bytes = 1 << 20}); });
    CHECK(error.kind() == ErrorKind::io);
    CHECK(says(error, {"copy.npy", "offset 2500000", "File too large"}));
    CHECK_FALSE(fs::exists(folder / "copy.npy"));
  }
  std::uint64_t copied = 0;
  stage(source, folder / "copy.npy", {.checkpoint_bytes = 1 << 20}, [&](const StageProgress& now) {
    copied = now.copied_bytes;
    return true;
  });
  CHECK(copied < fs::file_size(folder / "rows.npy"));
  CHECK(read_file(folder / "copy.npy") == read_file(folder / "rows.npy"));
}

}  // namespace penstock::test::stage_faults_test
