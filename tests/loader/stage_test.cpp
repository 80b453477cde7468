// Staging: a copy opens as its source does, is gone on with after any interruption, and tells what was wrong.
#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <penstock/formats/sidecar.hpp>
#include <penstock/loader/stage.hpp>
#include <penstock/loader/uring_engine.hpp>
#include <penstock/loader/verify.hpp>

#include "support/faulty_engine.hpp"
#include "support/file_size_limit.hpp"
#include "support/loading.hpp"
#include "support/random_samples.hpp"
#include "support/refuse_uring.hpp"

using namespace penstock;
using namespace penstock::test;
namespace fs = std::filesystem;

namespace {

void write_folder(const fs::path& folder, std::size_t count = 60, unsigned seed = 4) {
  for (const MadeSample& sample : random_samples(count, seed))
    for (const auto& [field, bytes] : sample.fields) write_file(folder / (sample.key + "." + field), bytes);
}

// What users put there: no journal, no sidecar.
std::map<std::string, std::string> visible_files(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (entry.is_regular_file() && entry.path().filename().string().front() != '.' && !name.ends_with("-idx"))
      files[name] = read_file(entry.path());
  }
  return files;
}

std::set<std::string> hidden_names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename().string().front() == '.') names.insert(fs::relative(entry.path(), folder).string());
  }
  return names;
}

void check_equal(const Dataset& copy, const Dataset& source) {
  CHECK(copy.format() == source.format());
  CHECK(copy.fingerprint() == source.fingerprint());
  const VerifyResult result = verify(copy, {.against = &source, .workers = 1});
  CHECK(result.bad_count == 0);
  CHECK(result.compared == result.values);
  CHECK(result.samples == source.size());
}

template <typename Work>
Error error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return Error::resource("");
}

bool says(const Error& error, const std::vector<std::string>& words) {
  const std::string text = error.what();
  INFO(text);
  for (const std::string& word : words) {
    const bool found = text.find(word) != std::string::npos;
    CHECK_MESSAGE(found, word << " is missing in: " << text);
    if (!found) return false;
  }
  return true;
}

auto with_faults(const Faults& faults) {
  return [faults](const FaultyEngine::Make& make, OnRead on_read) -> std::unique_ptr<ReadEngine> {
    return std::make_unique<FaultyEngine>(make, faults, std::move(on_read));
  };
}

void flip_byte(const fs::path& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

// A dataset of one large file: a .npy of `rows` rows of 64 KiB.
void write_large_npy(const fs::path& path, std::size_t rows) {
  std::vector<float> values(rows * 16384);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100'003);
  write_file(path, npy_file(values, "(" + std::to_string(rows) + ", 16384)"));
}

}  // namespace

TEST_CASE("every packing is staged whole, with every engine, and staged again costs no copy") {
  const TemporaryFolder folder;
  write_folder(folder / "source");
  const Dataset source = open(folder / "source");
  std::vector<EngineKind> engines{EngineKind::automatic, EngineKind::pread, EngineKind::direct};
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
      CHECK(read_file(sidecar) == read_file(sidecar_paths(folder / "foreign" / names.front()).front()));
      check_equal(open(folder / "one" / names.front()), one);

      const std::string numbers = "shard-{000001,000000}" + fs::path(names.front()).extension().string();
      const Dataset some = open(folder / "foreign" / numbers);
      const StageResult result = stage(some, folder / "some");
      CHECK(result.opens == folder / "some" / numbers);
      check_equal(open(result.opens), some);
    }
    for (const char* name : {"packed", "foreign", "copy", "one", "some"}) fs::remove_all(folder / name);
  }
}

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
      CHECK(says(error_of([&] { open(copy); }), {"copy that is not complete", "stage it again"}));
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
  CHECK(says(error_of([&] { stage(open(folder / "source"), folder / "copy"); }), {"mine.txt", "--overwrite"}));
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

TEST_CASE("a flipped byte in the source is reported with shard, key, field and offset, and stops nothing else") {
  const TemporaryFolder folder;
  write_folder(folder / "files");
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const Dataset source = packed(open(folder / "files"), folder / format, format);
    const std::uint32_t jpg = source.field("jpg").value();
    std::vector<Piece> pieces;
    std::uint64_t sample = source.size();
    while (source.length(--sample, jpg) != 9000) {
    }
    REQUIRE(source.locate(sample, jpg, pieces));
    const Extent extent = pieces.front().extent;
    flip_byte(source.file(extent.file).path, extent.offset + 4000);
    const fs::path copy = folder / (format + "-copy");
    const Error error = error_of([&] { stage(source, copy); });
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(says(error, {(folder / format).string(), source.shard(source.shard_of(sample)).name,
                       "sample " + std::string(source.key(sample)), "field jpg",
                       "offset " + std::to_string(extent.offset), "CRC-32C"}));
    CHECK_FALSE(fs::exists(copy));
    CHECK_NOTHROW(stage(source, copy, {.reread = Reread::never}));  // as it is, if that is wanted
    CHECK(visible_files(copy) == visible_files(folder / format));
  }
}

TEST_CASE("reads that fail for a moment are tried again; those that go on failing are told once, with the file") {
  const TemporaryFolder folder;
  write_arrays(folder / "source", 40);
  const Dataset source = open(folder / "source");
  stage(source, folder / "copy", {.wrap_engine = with_faults({.fail_nth = 5, .fail_file = 7, .times = 2})});
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));

  const Error error =
      error_of([&] { stage(source, folder / "other", {.wrap_engine = with_faults({.fail_file = 7, .error = EIO})}); });
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
        says(error_of([&] { stage(source, folder / "mine", {.overwrite = overwrite}); }), {"mine", "exists already"}));
  }
  CHECK(read_file(folder / "mine/thesis.txt") == "mine");
  CHECK(says(error_of([&] { stage(source, folder / "source"); }), {"lies in the dataset"}));
  CHECK(says(error_of([&] { stage(source, folder / "source/copy"); }), {"lies in the dataset"}));
  stage(other, folder / "copy");
  CHECK(says(error_of([&] { stage(source, folder / "copy"); }), {"is a copy of", "other", "--overwrite"}));
  stage(source, folder / "copy", {.overwrite = true});
  CHECK(visible_files(folder / "copy") == visible_files(folder / "source"));
  write_file(folder / "next.partial/thesis.txt", "mine");
  CHECK(says(error_of([&] { stage(source, folder / "next"); }), {"next.partial", "left from something else"}));
  write_file(folder / "file", "mine");
  CHECK(error_of([&] { stage(source, folder / "file"); }).kind() == ErrorKind::invalid_argument);

  write_large_npy(folder / "rows.npy", 1);
  write_file(folder / "there.npy", "mine");
  const Dataset rows = open(folder / "rows.npy");
  CHECK(says(error_of([&] { stage(rows, folder / "there.npy"); }), {"exists already", "--overwrite"}));
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
