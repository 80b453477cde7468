// Tests that samples from any thread, in any order, become the dataset that packing them from a folder gives.
#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <penstock/pack.hpp>

#include "support/file_size_limit.hpp"
#include "support/loading.hpp"
#include "support/random_samples.hpp"

namespace penstock::test::writer_test {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder)] = read_file(entry.path());
  }
  return files;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

ConvertOptions small_shards(const std::string& format) {
  ConvertOptions options;
  options.format = format;
  options.shard_size = 100'000;
  return options;
}

void add(Writer& writer, const MadeSample& sample) {
  std::vector<WriterValue> values;
  for (const auto& [field, bytes] : sample.fields) values.push_back({.field = field, .bytes = bytes_of(bytes)});
  writer.add(sample.key, values);
}

void add(Writer& writer, const std::string& key, const std::string& field, const std::string& bytes) {
  const WriterValue value{.field = field, .bytes = bytes_of(bytes)};
  writer.add(key, std::span(&value, 1));
}

}  // namespace

TEST_CASE("what many threads add in any order is the dataset that the sorted files give, byte for byte") {
  const TemporaryFolder folder;
  std::vector<MadeSample> samples = random_samples(300, 11);
  for (const MadeSample& sample : samples) {
    for (const auto& [field, bytes] : sample.fields) write_file(folder / "source" / (sample.key + "." + field), bytes);
  }
  for (const char* format : {"tar", "lmdb", "hdf5"}) {
    CAPTURE(format);
    convert(open(folder / "source"), folder / (std::string(format) + "-files"), small_shards(format));
    for (const unsigned seed : {1U, 2U}) {
      const fs::path destination = folder / (std::string(format) + std::to_string(seed));
      std::shuffle(samples.begin(), samples.end(), std::mt19937(seed));
      Writer writer(destination, {.pack = small_shards(format)});
      std::vector<std::thread> threads;
      for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (std::size_t i = t; i < samples.size(); i += 4) add(writer, samples[i]);
        });
      }
      for (std::thread& thread : threads) thread.join();
      CHECK(writer.samples() == 300);
      CHECK(writer.finish().samples == 300);
      CHECK(files_of(destination) == files_of(folder / (std::string(format) + "-files")));
    }
  }
}

TEST_CASE("a value may be a file, which is not copied before the dataset is packed") {
  const TemporaryFolder folder;
  const std::string large(300'000, 'x');
  write_file(folder / "in" / "a.npy", npy_file({1, 2}, "(2,)"));
  write_file(folder / "in" / "b.bin", large);
  Writer writer(folder / "out", {.classes = {"cat", "dog"}});
  const fs::path relative = fs::relative(folder / "in/a.npy");
  const std::vector<WriterValue> first{{.field = "npy", .file = relative}, {.field = "cls", .bytes = bytes_of("1")}};
  writer.add("a", first);
  const WriterValue second{.field = "bin", .file = folder / "in/b.bin"};
  writer.add("b", std::span(&second, 1));
  CHECK(writer.bytes() > large.size());
  const WriterValue missing{.field = "bin", .file = folder / "in/none.bin"};
  CHECK_THROWS_WITH_AS(writer.add("c", std::span(&missing, 1)), doctest::Contains("none.bin"), Error);
  writer.finish();
  const Dataset packed = open(folder / "out");
  CHECK(text_of(read_field(packed, 0, *packed.field("npy"))) == npy_file({1, 2}, "(2,)"));
  CHECK(text_of(read_field(packed, 1, *packed.field("bin"))) == large);
  CHECK(packed.classes().size() == 2);
}

TEST_CASE("a sample that cannot be taken is refused at once, by name, and the others are packed") {
  const TemporaryFolder folder;
  Writer writer(folder / "out", {.pack = small_shards("lmdb")});
  add(writer, "one", "cls", "1");
  CHECK_THROWS_WITH_AS(add(writer, "one", "cls", "2"), doctest::Contains("sample one: invalid argument: two samples"),
                       Error);
  CHECK_THROWS_AS(add(writer, "", "cls", "1"), Error);
  CHECK_THROWS_AS(add(writer, "folder/", "cls", "1"), Error);
  CHECK_THROWS_AS(add(writer, "two", "a/b", "1"), Error);
  CHECK_THROWS_AS(add(writer, "two", "__url__", "1"), Error);
  CHECK_THROWS_WITH_AS(add(writer, "two", "npy", std::string("\x93NUMPY\1\0rubbish", 15)),
                       doctest::Contains("field npy"), Error);
  CHECK_THROWS_WITH_AS(add(writer, std::string(508, 'k'), "cls", "1"), doctest::Contains("511"), Error);
  CHECK_THROWS_AS(writer.add("two", {}), Error);
  const std::vector<WriterValue> twice{{.field = "jpeg", .bytes = bytes_of("1")}, {.field = "JPG", .bytes = {}}};
  CHECK_THROWS_WITH_AS(writer.add("two", twice), doctest::Contains("field jpg"), Error);
  add(writer, std::string(507, 'k'), "cls", "3");
  CHECK(writer.finish().samples == 2);
  CHECK_THROWS_AS(add(writer, "three", "cls", "1"), Error);
  CHECK_THROWS_AS(writer.finish(), Error);
  CHECK(open(folder / "out").size() == 2);
}

TEST_CASE("a writer that is not finished, or whose packing is interrupted, leaves nothing") {
  const TemporaryFolder folder;
  const fs::path destination = folder / "sub/out";
  {
    Writer writer(destination, {});
    add(writer, "one", "cls", "1");
    CHECK(names_in(folder / "sub").empty());
  }
  CHECK(names_in(folder / "sub").empty());
  Writer writer(destination, {.pack = small_shards("tar")});
  for (int i = 0; i < 3000; ++i) add(writer, std::to_string(i), "bin", std::string(1000, 'b'));
  CHECK_THROWS_WITH_AS(writer.finish([](const ConvertProgress&) { return false; }), doctest::Contains("interrupted"),
                       Error);
  CHECK(names_in(folder / "sub").empty());
}

TEST_CASE("wrong options are refused before the first sample") {
  const TemporaryFolder folder;
  write_file(folder / "taken" / "file.txt", "not ours");
  const auto with = [](auto change) {
    WriterOptions options;
    change(options.pack);
    return options;
  };
  CHECK_THROWS_AS(Writer(folder / "taken", {}), Error);
  CHECK_THROWS_AS(Writer(folder / "taken", with([](ConvertOptions& pack) { pack.overwrite = true; })), Error);
  CHECK_THROWS_AS(Writer(folder / "out", with([](ConvertOptions& pack) { pack.format = "zoo"; })), Error);
  CHECK_THROWS_AS(Writer(folder / "out", with([](ConvertOptions& pack) { pack.align = 3; })), Error);
  CHECK_THROWS_AS(Writer(folder / "out", with([](ConvertOptions& pack) { pack.resume = true; })), Error);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"taken"});
}

TEST_CASE("overwrite replaces a dataset once the new one is complete") {
  const TemporaryFolder folder;
  for (const char* value : {"1", "2"}) {
    ConvertOptions options;
    options.overwrite = true;
    Writer writer(folder / "out", {.pack = options});
    add(writer, "one", "cls", value);
    writer.finish();
    const Dataset packed = open(folder / "out");
    CHECK(text_of(read_field(packed, 0, 0)) == value);
  }
  CHECK(names_in(folder.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("a full disk gives the same error to every thread and to finish(), and nothing is left") {
  const TemporaryFolder folder;
  {
    Writer writer(folder / "out", {});
    const FileSizeLimit full(1 << 20);
    const auto fill = [&] {
      for (int i = 0; i < 100; ++i) add(writer, std::to_string(i), "bin", std::string(100'000, 'x'));
    };
    const std::string message = "cannot write a temporary file in " + folder.path().string();
    CHECK_THROWS_WITH_AS(fill(), doctest::Contains(message.c_str()), Error);
    CHECK_THROWS_WITH_AS(add(writer, "other", "cls", "1"), doctest::Contains("temporary file"), Error);
    CHECK_THROWS_WITH_AS(writer.finish(), doctest::Contains("temporary file"), Error);
  }
  {
    ConvertOptions options;
    options.shard_size = 10 << 20;
    Writer writer(folder / "out", {.pack = options});
    for (int i = 0; i < 20; ++i) add(writer, std::to_string(i), "bin", std::string(100'000, 'x'));
    const FileSizeLimit full(1 << 20);
    CHECK_THROWS_AS(writer.finish(), Error);
  }
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("a forked child is told that the writer is not its own") {
  const TemporaryFolder folder;
  Writer writer(folder / "out", {});
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      add(writer, "one", "cls", "1");
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("fork") != std::string::npos ? 7 : 8);
    }
    ::_exit(9);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
  add(writer, "one", "cls", "1");
  CHECK(writer.finish().samples == 1);
}

TEST_CASE("no samples are a dataset of none") {
  const TemporaryFolder folder;
  Writer writer(folder / "out", {});
  CHECK(writer.finish().samples == 0);
  CHECK(open(folder / "out").size() == 0);
}

}  // namespace penstock::test::writer_test
