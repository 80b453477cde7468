// Tests packing by several processes: the parts joined are the dataset that one process makes, whatever their number.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/extent.hpp>
#include <formats/packed/journal.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/parts.hpp>
#include <formats/packed/skip_report.hpp>
#include <penstock/join.hpp>
#include <penstock/verify.hpp>

#include "support/killed_at.hpp"
#include "support/loading.hpp"
#include "support/random_samples.hpp"
#include "support/skip.hpp"
#include "support/written_formats.hpp"

namespace penstock::test::convert_parts_test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSamples = 80;

fs::path write_source(const fs::path& folder, std::size_t count = kSamples) {
  for (const MadeSample& sample : random_samples(count, 7)) {
    for (const auto& [field, bytes] : sample.fields) test::write_file(folder / (sample.key + "." + field), bytes);
  }
  return folder;
}

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder)] = test::read_file(entry.path());
  }
  return files;
}

ConvertOptions small_shards(const std::string& format, std::uint32_t rank, std::uint32_t world) {
  ConvertOptions options;
  options.format = format;
  options.shard_size = 100'000;
  options.workers = 1;
  options.rank = rank;
  options.world = world;
  return options;
}

void pack_parts(const Dataset& source, const fs::path& destination, const std::string& format, std::uint32_t world) {
  for (std::uint32_t rank = world; rank-- > 0;) convert(source, destination, small_shards(format, rank, world));
}

// Whether a part that is not finished has one.
bool has_whole_shard(const fs::path& destination) {
  for (const auto& entry : fs::recursive_directory_iterator(destination.string() + ".partial"))
    if (entry.path().filename() == Journal::kFileName && entry.file_size() > 0) return true;
  return false;
}

// {key: {field: bytes}}
std::map<std::string, std::map<std::string, std::vector<std::byte>>> content_of(const Dataset& dataset) {
  std::map<std::string, std::map<std::string, std::vector<std::byte>>> content;
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    auto& fields = content[std::string(dataset.key(sample))];
    for (std::uint32_t i = 0; i < dataset.fields().size(); ++i) {
      if (dataset.locate(sample, i, pieces)) fields[dataset.fields()[i].name] = read_field(dataset, sample, i);
    }
  }
  return content;
}

// Runs `work` in a child process that must not come back from it.
void die_in(const std::function<void()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool says(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (text.find(word) == std::string::npos) {
      MESSAGE("no '" << word << "' in: " << text);
      return false;
    }
  }
  return true;
}

// A packed dataset with damaged samples: those whose number is a multiple of `every`.
Dataset damaged(const Dataset& source, const fs::path& folder, std::uint64_t every) {
  ConvertOptions options = small_shards("tar", 0, 0);
  convert(source, folder, options);
  const Dataset dataset = open(folder);
  const std::uint32_t jpg = *dataset.field("jpg");
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < dataset.size(); sample += every) {
    if (!dataset.locate(sample, jpg, pieces) || pieces.front().length == 0) continue;
    const fs::path file = dataset.file(pieces.front().extent.file).path;
    std::string bytes = test::read_file(file);
    bytes[pieces.front().extent.offset] ^= 1;
    test::write_file(file, bytes);
  }
  return open(folder);
}

}  // namespace

TEST_CASE(
    "joined parts have the same samples as the dataset of one process, and the same bytes for any number of them") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source"));
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const fs::path alone = folder / (format + "-alone");
    convert(source, alone, small_shards(format, 0, 0));
    std::map<std::string, std::string> first;
    for (const std::uint32_t world : {1U, 3U, 40U}) {
      CAPTURE(world);
      const fs::path destination = folder / (format + std::to_string(world));
      pack_parts(source, destination, format, world);
      CHECK_FALSE(fs::exists(destination));
      const JoinedDataset told = finish_convert(destination);
      CHECK_FALSE(fs::exists(destination.string() + ".partial"));
      const Dataset joined = open(destination);
      CHECK(told.samples == kSamples);
      CHECK(told.shards == joined.shard_count());
      CHECK(joined.shard_count() > 3);
      CHECK(joined.fingerprint() == open(alone).fingerprint());
      CHECK(content_of(joined) == content_of(open(alone)));
      CHECK(verify(joined, {.against = &source}).bad_count == 0);
      if (first.empty()) first = files_of(destination);
      CHECK(files_of(destination) == first);
    }
  }
}

TEST_CASE("planned shards are about as large as those that are cut as they fill") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source", 400));
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const fs::path destination = folder / format;
    pack_parts(source, destination, format, 2);
    finish_convert(destination);
    const Manifest manifest = Manifest::from_json(open(destination).attributes());
    for (const ManifestShard& shard : manifest.shards) CHECK(shard.bytes < 130'000);
    for (std::size_t i = 0; i + 1 < manifest.shards.size(); ++i) CHECK(manifest.shards[i].bytes > 25'000);
  }
}

TEST_CASE("until it is finished there is no dataset, and opening it says what to do") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source"));
  pack_parts(source, folder / "set", "tar", 2);
  CHECK(says(error_of([&] { open(folder / "set"); }), {"set.partial", "pack-join"}));
  CHECK(says(error_of([&] { open(folder / "set.partial"); }), {"pack-join"}));
  CHECK(says(error_of([&] { convert(source, folder / "set", small_shards("tar", 0, 0)); }), {"pack-join"}));
  ConvertOptions overwrite = small_shards("tar", 0, 0);
  overwrite.overwrite = true;
  CHECK(says(error_of([&] { convert(source, folder / "set", overwrite); }), {"pack-join"}));
  CHECK(open(folder / "set.partial" / "part-00001-of-00002").size() > 0);
}

TEST_CASE("a rank that was killed resumes behind its whole shards; one that had finished has nothing to do") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source", 200));
  for (const std::string& format : written_formats()) {
    CAPTURE(format);
    const fs::path whole = folder / (format + "-whole"), set = folder / format;
    pack_parts(source, whole, format, 3);
    finish_convert(whole);
    for (const std::uint32_t rank : {0U, 2U}) convert(source, set, small_shards(format, rank, 3));
    die_in([&] {
      convert(source, set, small_shards(format, 1, 3), [&](const ConvertProgress& progress) {
        // Shards are completed by a thread of their own.
        for (int tries = 0; tries < 10'000 && progress.samples > 0; ++tries) {
          if (has_whole_shard(set)) ::kill(::getpid(), SIGKILL);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
      });
    });
    CHECK(says(error_of([&] { convert(source, set, small_shards(format, 1, 3)); }), {"resume", "overwrite"}));
    CHECK(says(error_of([&] { finish_convert(set); }), {"not all 3 parts", "unfinished ranks: 1"}));
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      ConvertOptions options = small_shards(format, rank, 3);
      options.resume = true;
      const ConvertResult result = convert(source, set, options);
      CHECK(result.resumed > 0);
      CHECK((result.samples > 0) == (rank == 1));
    }
    finish_convert(set);
    CHECK(files_of(set) == files_of(whole));
  }
}

TEST_CASE("finishing refuses parts that are missing, unfinished or of another run, and names their ranks") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source"));
  const fs::path set = folder / "set";
  CHECK(says(error_of([&] { finish_convert(set); }), {"nothing to finish"}));
  for (const std::uint32_t rank : {0U, 3U}) convert(source, set, small_shards("tar", rank, 5));
  CHECK(says(error_of([&] { finish_convert(set); }), {"not all 5 parts", "missing ranks: 1, 2 and 4"}));
  CHECK(says(error_of([&] { convert(source, set, small_shards("tar", 1, 4)); }), {"part-00000-of-00005", "not 4"}));
  for (const std::uint32_t rank : {2U, 4U}) convert(source, set, small_shards("tar", rank, 5));

  SUBCASE("other options") {
    ConvertOptions other = small_shards("tar", 1, 5);
    other.shard_size = 90'000;
    convert(source, set, other);
    CHECK(says(error_of([&] { finish_convert(set); }), {"rank 1", "rank 0", "shard_size was 100000, now 90000"}));
    ConvertOptions again = small_shards("tar", 1, 5);
    again.resume = true;
    CHECK(says(error_of([&] { convert(source, set, again); }), {"part-00001-of-00005", "other options", "90000"}));
    again.resume = false;
    again.overwrite = true;
    convert(source, set, again);
    finish_convert(set);
    CHECK(open(set).size() == kSamples);
  }
  SUBCASE("another format") {
    convert(source, set, small_shards("hdf5", 1, 5));
    CHECK(says(error_of([&] { finish_convert(set); }), {"rank 1", "format was \"tar\", now \"hdf5\""}));
  }
  SUBCASE("another source with the same keys") {
    const fs::path other = write_source(folder / "other");
    test::write_file(other / (std::string(source.key(5)) + ".jpg"), "changed");
    convert(open(other), set, small_shards("tar", 1, 5));
    CHECK(says(error_of([&] { finish_convert(set); }), {"rank 1", "source was"}));
  }
  SUBCASE("a part of another number of processes") {
    convert(source, folder / "other", small_shards("tar", 1, 4));
    fs::rename(folder / "other.partial" / "part-00001-of-00004", folder / "set.partial" / "part-00001-of-00004");
    CHECK(says(error_of([&] { finish_convert(set); }), {"parts of 4 and of 5 processes"}));
  }
  SUBCASE("the part of another rank under its name") {
    fs::copy(folder / "set.partial" / "part-00002-of-00005", folder / "set.partial" / "part-00001-of-00005",
             fs::copy_options::recursive);
    CHECK(says(error_of([&] { finish_convert(set); }), {"rank 1 does not begin where the rank before it ends"}));
  }
  SUBCASE("keys that overlap") {
    convert(source, set, small_shards("tar", 1, 5));
    const fs::path two = folder / "set.partial" / "part-00002-of-00005";
    const fs::path one = folder / "set.partial" / "part-00001-of-00005";
    const std::string manifest = test::read_file(two / "penstock.json");
    std::string forged = test::read_file(one / "penstock.json");
    const auto entry = [](const std::string& text) {
      const std::size_t begin = text.find("\"shards\": ["), end = text.find(']', begin);
      return std::pair{begin, end - begin};
    };
    const auto [at, length] = entry(forged);
    const auto [from, count] = entry(manifest);
    forged.replace(at, length, manifest.substr(from, count));
    for (const char* name : {"\"samples\": "}) {  // those of the forged part: both in the manifest and in its part
      const auto number = [&](const std::string& text, std::size_t where) {
        const std::size_t begin = text.find(name, where) + std::string(name).size();
        return text.substr(begin, text.find_first_of(",\n}", begin) - begin);
      };
      const std::string had = number(forged, 0), has = number(manifest, 0);
      for (std::size_t i = forged.find(name + had); i != std::string::npos; i = forged.find(name + had, i + 1))
        forged.replace(i + std::string(name).size(), had.size(), has);
    }
    for (const auto& file : fs::directory_iterator(one)) fs::remove(file.path());
    for (const auto& file : fs::directory_iterator(two)) fs::copy(file.path(), one / file.path().filename());
    test::write_file(one / "penstock.json", forged);
    CHECK(says(error_of([&] { finish_convert(set); }), {"keys of rank 1 and rank 2 overlap"}));
  }
  SUBCASE("a shard that was cut short since") {
    convert(source, set, small_shards("tar", 1, 5));
    for (const auto& file : fs::directory_iterator(folder / "set.partial" / "part-00001-of-00005")) {
      if (file.path().extension() == ".tar") fs::resize_file(file.path(), 1000);
    }
    CHECK(says(error_of([&] { finish_convert(set); }), {"part-00001-of-00005", "was packed with"}));
  }
  CHECK((fs::exists(set) || !parts_in(folder / "set.partial").empty()));
}

TEST_CASE("finishing that is killed at any step leaves no half dataset, and is finished by a second try") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source", 20));
  const Dataset bad = damaged(source, folder / "damaged", 3);
  for (const std::uint32_t rank : {0U, 1U}) {
    ConvertOptions options = small_shards("lmdb", rank, 2);  // the shards of LMDB are folders
    options.shard_size = 60'000;
    options.on_error = PackOnError::skip;
    convert(bad, folder / "set", options);
  }
  fs::copy(folder / "set.partial", folder / "whole.partial", fs::copy_options::recursive);
  finish_convert(folder / "whole");
  const auto expected = files_of(folder / "whole");
  REQUIRE(expected.contains("skipped.jsonl"));
  convert(source, folder / "before", small_shards("tar", 0, 0));

  for (const bool replace : {false, true}) {
    CAPTURE(replace);
    std::uint64_t steps = 0;
    for (bool killed = true; killed; ++steps) {
      CAPTURE(steps);
      const fs::path set = folder / ((replace ? "over" : "new") + std::to_string(steps));
      fs::copy(folder / "set.partial", set.string() + ".partial", fs::copy_options::recursive);
      if (replace) fs::copy(folder / "before", set, fs::copy_options::recursive);
      const auto answer = killed_at(steps, [&] { finish_convert(set, {.overwrite = replace}); });
      if (!answer) {
        penstock::test::skip("processes may not be traced here; allow ptrace");
        return;
      }
      killed = *answer;
      if (fs::exists(set)) {
        const Dataset there = open(set);
        CHECK(there.size() == (there.format() == "tar" ? 20 : open(folder / "whole").size()));
        CHECK((replace || there.format() == "lmdb"));
      }
      finish_convert(set, {.overwrite = replace});
      REQUIRE(files_of(set) == expected);
      REQUIRE_FALSE(fs::exists(set.string() + ".partial"));
    }
    CHECK(steps > 10);
  }
}

TEST_CASE("a dataset that is there is replaced only when told, by ranks and by finishing alike") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source"));
  convert(source, folder / "set", small_shards("hdf5", 0, 0));
  const auto before = files_of(folder / "set");
  CHECK(says(error_of([&] { convert(source, folder / "set", small_shards("tar", 0, 2)); }), {"already exists"}));
  for (const std::uint32_t rank : {0U, 1U}) {
    ConvertOptions options = small_shards("tar", rank, 2);
    options.overwrite = true;
    convert(source, folder / "set", options);
  }
  CHECK(says(error_of([&] { finish_convert(folder / "set"); }), {"already exists"}));
  CHECK(files_of(folder / "set") == before);
  finish_convert(folder / "set", {.overwrite = true});
  CHECK(open(folder / "set").format() == "tar");
  CHECK_FALSE(fs::exists(folder / "set.partial"));
  test::write_file(folder / "mine" / "photo.jpg", "x");
  CHECK(says(error_of([&] { finish_convert(folder / "mine"); }), {"nothing to finish"}));
}

TEST_CASE("wrong ranks are refused before anything is written") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source"));
  CHECK(says(error_of([&] { convert(source, folder / "set", small_shards("tar", 2, 2)); }),
             {"rank 2 must be less than world, which is 2"}));
  CHECK(says(error_of([&] { convert(source, folder / "set", small_shards("folder", 0, 2)); }), {"cannot be written"}));
  CHECK_FALSE(fs::exists(folder / "set"));
}

TEST_CASE("samples left out are reported in order, in the dataset and where asked, also by resumed and joined runs") {
  const TemporaryFolder folder;
  const Dataset source = damaged(open(write_source(folder / "source")), folder / "damaged", 5);
  ConvertOptions alone = small_shards("lmdb", 0, 0);
  CHECK_THROWS_AS(convert(source, folder / "raised", alone), Error);
  alone.on_error = PackOnError::skip;
  alone.report = folder / "report.jsonl";
  const ConvertResult told = convert(source, folder / "alone", alone);
  CHECK(told.skipped > 10);
  CHECK(told.bad.size() == told.skipped);
  const std::string report = read_skip_report(folder / "alone");
  CHECK(count_lines(report) == told.skipped);
  CHECK(test::read_file(folder / "report.jsonl") == report);
  CHECK(says(report.substr(0, report.find('\n')),
             {"{\"sample\":", ",\"key\":\"class 0/", "\"field\":\"jpg\"", "CRC-32C"}));

  ConvertOptions part = small_shards("lmdb", 0, 3);
  part.report = alone.report;
  CHECK(says(error_of([&] { convert(source, folder / "set", part); }), {"report", "when you join the parts"}));
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ConvertOptions options = small_shards("lmdb", rank, 3);
    options.on_error = PackOnError::skip;
    die_in([&] {
      convert(source, folder / "set", options, [](const ConvertProgress&) {
        ::kill(::getpid(), SIGKILL);
        return true;
      });
    });
    options.resume = true;
    convert(source, folder / "set", options);
  }
  const JoinedDataset joined = finish_convert(folder / "set", {.report = folder / "joined.jsonl"});
  CHECK(joined.skipped == told.skipped);
  CHECK(joined.samples + joined.skipped == kSamples);
  CHECK(read_skip_report(folder / "set") == report);
  CHECK(test::read_file(folder / "joined.jsonl") == report);
  CHECK(content_of(open(folder / "set")) == content_of(open(folder / "alone")));
}

TEST_CASE("shards of which no sample is good are left out, and the rest is joined") {
  const TemporaryFolder folder;
  const Dataset source = damaged(open(write_source(folder / "source", 24)), folder / "damaged", 1);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ConvertOptions options = small_shards("tar", rank, 2);
    options.on_error = PackOnError::skip;
    options.shard_size = 3000;
    convert(source, folder / "set", options);
  }
  const JoinedDataset joined = finish_convert(folder / "set");
  CHECK(joined.skipped > 15);
  CHECK(joined.samples + joined.skipped == 24);
  CHECK(open(folder / "set").size() == joined.samples);
}

TEST_CASE("numbers of a plan to join, or of a part, that are none end finishing with an error") {
  const TemporaryFolder folder;
  const Dataset source = open(write_source(folder / "source"));
  const fs::path set = folder / "set", partial = folder / "set.partial";
  for (const char* number : {"1e40", "-1", "1.5", "\"7\"", "null", "18446744073709551615"}) {
    CAPTURE(number);
    SUBCASE("the plan's") {
      pack_parts(source, set, "tar", 2);
      for (const std::string& text : {std::string(R"({"manifest": "", "skipped": )") + number + R"(, "parts": []})",
                                      std::string(R"({"manifest": "", "skipped": 0, "parts": [{"name": )") +
                                          R"("part-00000-of-00002", "shards": )" + number + "}]}"}) {
        test::write_file(partial / "joining.json", text);
        CHECK(says(error_of([&] { finish_convert(set); }), {"joining.json"}));
        CHECK_FALSE(fs::exists(set));
      }
    }
    SUBCASE("a part's share") {
      pack_parts(source, set, "tar", 2);
      const fs::path manifest = partial / "part-00001-of-00002" / "penstock.json";
      std::string text = test::read_file(manifest);
      const std::string before = "\"first_shard\":";
      const std::size_t begin = text.find(before);
      REQUIRE(begin != std::string::npos);
      const std::size_t value = begin + before.size();
      text.replace(value, text.find_first_of(",}", value) - value, number);
      test::write_file(manifest, text);
      CHECK(says(error_of([&] { finish_convert(set); }), {"part-00001-of-00002"}));
      CHECK_FALSE(fs::exists(set));
    }
    fs::remove_all(partial);
  }
}

}  // namespace penstock::test::convert_parts_test
