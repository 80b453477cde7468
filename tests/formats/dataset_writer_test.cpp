#include <cerrno>
#include <csignal>
#include <future>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/dataset.hpp>
#include <penstock/formats/dataset_writer.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/journal.hpp>
#include <penstock/formats/packed.hpp>

#include "support/temporary_folder.hpp"

using namespace penstock;
using penstock::test::bytes_of;
using penstock::test::TemporaryFolder;
using penstock::test::text_of;

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSamples = 40;

std::string key_of(std::uint64_t i) {
  return "class/" + std::to_string(1000 + i);
}

std::string value_of(std::uint64_t i) {
  return std::string(1500 + i * 37 % 900, static_cast<char>('a' + i % 26));
}

// Shards of about four samples.
DatasetWriterOptions small_shards() {
  DatasetWriterOptions options;
  options.shard_size = 16 << 10;
  options.fields = {{.name = "bin", .codec = ""}, {.name = "cls", .codec = "cls"}};
  options.classes = {"cat", "dog"};
  options.made_with = R"({"source": "test"})";
  return options;
}

// The same, each completed on another thread while the next one fills.
DatasetWriterOptions completed_aside() {
  DatasetWriterOptions options = small_shards();
  options.aside = [](std::function<void()> work) { return std::async(std::launch::async, std::move(work)); };
  return options;
}

void add(DatasetWriter& writer, std::uint64_t i) {
  const std::string value = value_of(i), cls = std::to_string(i % 2);
  const std::vector<FieldValue> fields{
      {.field = 0, .bytes = bytes_of(value), .crc32c = crc32c(bytes_of(value)), .header = bytes_of("head")},
      {.field = 1, .bytes = bytes_of(cls), .crc32c = crc32c(bytes_of(cls)), .header = {}}};
  writer.add(key_of(i), fields);
}

void write_all_samples(const fs::path& destination, const DatasetWriterOptions& options) {
  DatasetWriter writer(destination, options);
  for (std::uint64_t i = writer.resumed_samples(); i < kSamples; ++i) add(writer, i);
  writer.finish();
}

void check_content(const fs::path& destination) {
  const Dataset dataset = penstock::open(destination);
  CHECK(dataset.packed());
  REQUIRE(dataset.size() == kSamples);
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    REQUIRE(dataset.key(i) == key_of(i));
    const std::vector<std::byte> bytes = read_field(dataset, i, *dataset.field("bin"));
    REQUIRE(text_of(bytes) == value_of(i));
    REQUIRE(dataset.crc32c(i, *dataset.field("bin")) == crc32c(bytes));
    REQUIRE(text_of(read_field(dataset, i, *dataset.field("cls"))) == std::to_string(i % 2));
    REQUIRE(text_of(dataset.header(i, *dataset.field("bin"))) == "head");
  }
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) verify_shard(dataset, shard);
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

// Every file of a folder, by name.
std::vector<std::pair<std::string, std::string>> content_of(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files.emplace_back(entry.path().lexically_relative(folder).string(), test::read_file(entry.path()));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Packs in a child process that is killed behind sample `stop`, as by a power cut: nothing is cleaned up.
void pack_and_die(const fs::path& destination, const DatasetWriterOptions& options, std::uint64_t stop) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    DatasetWriter writer(destination, options);
    for (std::uint64_t i = writer.resumed_samples(); i < stop; ++i) add(writer, i);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("a packed dataset reads back, and its shards are within the size asked for") {
  const TemporaryFolder folder;
  for (const char* format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    options.shard_size = 64 << 10;
    write_all_samples(folder / format, options);
    check_content(folder / format);
    const Dataset dataset = penstock::open(folder / format);
    CHECK(dataset.shard_count() > 1);
    CHECK(dataset.format() == format);
    CHECK(dataset.classes().size() == 2);
    CHECK(dataset.complete(0));
    CHECK_FALSE(fs::exists(folder / (std::string(format) + ".partial")));
    CHECK_FALSE(fs::exists(folder / format / Journal::kFileName));
  }
  CHECK(penstock::open(folder / "tar").fingerprint() == penstock::open(folder / "lmdb").fingerprint());
  CHECK(penstock::open(folder / "tar").fingerprint() == penstock::open(folder / "hdf5").fingerprint());
}

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
    options = completed_aside();
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

TEST_CASE("every packing has the same bytes when its shards are completed aside, and reports as many") {
  const TemporaryFolder folder;
  for (const char* format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    write_all_samples(folder / format, options);
    options.aside = completed_aside().aside;
    const fs::path other = folder / (std::string(format) + ".aside");
    std::uint64_t bytes = 0;
    {
      DatasetWriter writer(other, options);
      for (std::uint64_t i = 0; i < kSamples; ++i) {
        add(writer, i);
        CHECK(writer.bytes() >= bytes);
        bytes = writer.bytes();
      }
      writer.finish();
    }
    CHECK(content_of(other) == content_of(folder / format));
  }
}

TEST_CASE("what fails aside ends the writer, and only shards that are whole stay") {
  const TemporaryFolder folder;
  DatasetWriterOptions options = small_shards();
  int begun = 0;
  options.aside = [&begun](std::function<void()> work) {
    return std::async(std::launch::async, [number = begun++, work = std::move(work)] {
      if (number == 2) throw Error::io(EIO, "cannot fsync");
      work();
    });
  };
  {
    DatasetWriter writer(folder / "set", options);
    std::string message;
    std::uint64_t i = 0;
    try {
      for (; i < kSamples; ++i) add(writer, i);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.find("cannot fsync") != std::string::npos);
    CHECK(message.find("set.partial") != std::string::npos);
    CHECK_THROWS_AS(add(writer, i), Error);
    CHECK_THROWS_AS(writer.finish(), Error);
  }
  std::vector<std::string> left;
  for (const auto& [name, content] : content_of(folder / "set.partial")) left.push_back(name);
  const std::vector<std::string> whole{"shard-000000.idx", "shard-000000.tar", "shard-000001.idx", "shard-000001.tar",
                                       "unfinished.jsonl"};
  CHECK(left == whole);
  options = completed_aside();
  options.resume = true;
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
}

TEST_CASE("the checksum of a shard is that of its files' bytes, also where it was put together from its values'") {
  const TemporaryFolder folder;
  for (const char* format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    DatasetWriterOptions options = small_shards();
    options.format = format;
    options.shard_size = std::uint64_t{1} << 20;
    {
      DatasetWriter writer(folder / format, options);
      for (std::uint64_t i = 0; i < 30; ++i) {
        const std::string value(i % 3 == 0 ? 100 : 32700 + i * 4099, static_cast<char>('a' + i));
        const std::vector<FieldValue> fields{
            {.field = 0, .bytes = bytes_of(value), .crc32c = crc32c(bytes_of(value)), .header = {}}};
        writer.add(key_of(i), fields);
      }
      writer.finish();
    }
    const Dataset dataset = penstock::open(folder / format);
    CHECK(dataset.shard_count() > 1);
    for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) CHECK_NOTHROW(verify_shard(dataset, shard));
  }
}

TEST_CASE("a value that does not have its checksum is noticed by verify_shard") {
  const TemporaryFolder folder;
  const std::string value(100'000, 'x');
  {
    DatasetWriter writer(folder / "set", small_shards());
    writer.add("key", std::vector<FieldValue>{{.field = 0, .bytes = bytes_of(value), .crc32c = 1, .header = {}}});
    writer.finish();
  }
  CHECK_THROWS_WITH_AS(verify_shard(penstock::open(folder / "set"), 0), doctest::Contains("checksum"), Error);
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
  test::write_file(folder / "set.partial" / "shard-000000.idx", "broken");
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
}

TEST_CASE("a journal cut at any length is resumed or refused, and the result is the same") {
  const TemporaryFolder folder;
  write_all_samples(folder / "whole", small_shards());
  const auto expected = content_of(folder / "whole");
  pack_and_die(folder / "set", small_shards(), 16);
  const std::string journal = test::read_file(folder / "set.partial" / Journal::kFileName);
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
  DatasetWriterOptions options = small_shards();
  options.resume = true;
  options.shard_size = 1 << 20;
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("shard_size was 16384, now 1048576"),
                       Error);
  options = small_shards();
  options.resume = true;
  options.made_with = R"({"source": "other"})";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("made_with"), Error);
}

TEST_CASE("an existing destination is an error; overwrite replaces it only once the new one is complete") {
  const TemporaryFolder folder;
  write_all_samples(folder / "set", small_shards());
  const auto before = content_of(folder / "set");
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", small_shards()), doctest::Contains("exists already"), Error);

  DatasetWriterOptions options = small_shards();
  options.overwrite = true;
  options.shard_size = 1 << 20;
  {
    DatasetWriter writer(folder / "set", options);
    add(writer, 0);
    CHECK(content_of(folder / "set") == before);
  }
  CHECK(content_of(folder / "set") == before);
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
  CHECK(penstock::open(folder / "set").shard_count() == 1);
  CHECK_FALSE(fs::exists(folder / "set.partial"));
}

TEST_CASE("overwrite never removes what is no packed dataset") {
  const TemporaryFolder folder;
  test::write_file(folder / "photos" / "a.jpg", "x");
  DatasetWriterOptions options = small_shards();
  options.overwrite = true;
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "photos", options), doctest::Contains("no packed dataset"), Error);
  test::write_file(folder / "set.partial" / "a.jpg", "x");
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("no packed dataset"), Error);
  CHECK(fs::exists(folder / "photos" / "a.jpg"));
  CHECK(fs::exists(folder / "set.partial" / "a.jpg"));
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
    test::write_file(folder / "set.partial" / "penstock.json", "{}");
    write_all_samples(folder / "set", options);
  }
  SUBCASE("the folder was renamed, the journal not removed") {
    write_all_samples(folder / "set", small_shards());
    test::write_file(folder / "set" / Journal::kFileName, "{}\n");
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

TEST_CASE("a full disk is one error that names the file, and the whole shards stay") {
  if (!fs::exists("/dev/full")) {
    MESSAGE("skipped: no /dev/full");
    return;
  }
  const TemporaryFolder folder;
  DatasetWriterOptions options;
  SUBCASE("each shard is completed before the next begins") {
    options = small_shards();
  }
  SUBCASE("shards are completed aside") {
    options = completed_aside();
  }
  {
    DatasetWriter writer(folder / "set", options);
    for (std::uint64_t i = 0; i < 20; ++i) add(writer, i);
    // The next .idx cannot be written: its temporary name leads to a disk that is always full.
    for (int shard = 0; shard < 8; ++shard) {
      const std::string name =
          ".shard-00000" + std::to_string(shard) + ".idx." + host_name() + "-" + std::to_string(::getpid()) + ".tmp";
      fs::create_symlink("/dev/full", folder / "set.partial" / name);
    }
    std::string message;
    try {
      for (std::uint64_t i = 20; i < kSamples; ++i) add(writer, i);
    } catch (const Error& error) {
      message = error.what();
      CHECK(error.kind() == ErrorKind::io);
    }
    CHECK_MESSAGE(message.find("No space left on device") != std::string::npos, message);
    CHECK(message.find("set.partial") != std::string::npos);
    CHECK_THROWS_AS(add(writer, 39), Error);
  }
  options.resume = true;
  write_all_samples(folder / "set", options);
  check_content(folder / "set");
}

TEST_CASE("damage to a packed dataset is an error that names the file") {
  const TemporaryFolder folder;
  write_all_samples(folder / "set", small_shards());
  const fs::path shard = folder / "set" / "shard-000001.tar", index = folder / "set" / "shard-000001.idx";
  const std::string bytes = test::read_file(shard), index_bytes = test::read_file(index);

  SUBCASE("a shard cut short is noticed by open") {
    fs::resize_file(shard, bytes.size() - 512);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("a missing shard is noticed by open") {
    fs::remove(shard);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("a missing index is noticed by open") {
    fs::remove(index);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.idx"), Error);
  }
  SUBCASE("another shard's index is noticed by open") {
    test::write_file(index, test::read_file(folder / "set" / "shard-000002.idx"));
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("a flipped byte of a shard is noticed by verify_shard alone") {
    std::string flipped = bytes;
    flipped[700] ^= 1;
    test::write_file(shard, flipped);
    const Dataset dataset = penstock::open(folder / "set");
    verify_shard(dataset, 0);
    CHECK_THROWS_WITH_AS(verify_shard(dataset, 1), doctest::Contains("shard-000001.tar"), Error);
  }
  SUBCASE("a flipped byte anywhere in an index is noticed by open or by verify_shard") {
    for (std::size_t i = 0; i < index_bytes.size(); i += 5) {
      std::string flipped = index_bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
      test::write_file(index, flipped);
      CHECK_THROWS_AS(verify_shard(penstock::open(folder / "set"), 1), Error);
    }
  }
  SUBCASE("a manifest cut anywhere is an error") {
    const std::string manifest = test::read_file(folder / "set" / "penstock.json");
    for (std::size_t length = 0; length + 2 < manifest.size(); length += 11) {
      test::write_file(folder / "set" / "penstock.json", manifest.substr(0, length));
      CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("penstock.json"), Error);
    }
  }
  SUBCASE("a manifest that names files elsewhere is an error") {
    std::string manifest = test::read_file(folder / "set" / "penstock.json");
    manifest.replace(manifest.find("shard-000001.tar"), 16, "../shard-0001.tar");
    test::write_file(folder / "set" / "penstock.json", manifest);
    CHECK_THROWS_WITH_AS(penstock::open(folder / "set"), doctest::Contains("bad name of a shard"), Error);
  }
}

TEST_CASE("wrong options fail before anything is written") {
  const TemporaryFolder folder;
  DatasetWriterOptions options = small_shards();
  options.format = "zip7";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("unknown format"), Error);
  options.format = "folder";
  CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("only read"), Error);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("the same key twice in a row is an error that names it") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "set", small_shards());
  add(writer, 0);
  CHECK_THROWS_WITH_AS(add(writer, 0), doctest::Contains("class/1000"), Error);
}

TEST_CASE("a dataset may be opened by its penstock.json or with a slash behind it") {
  const TemporaryFolder folder;
  write_all_samples(folder / "set/", small_shards());
  CHECK(penstock::open(folder / "set/").size() == kSamples);
  CHECK(penstock::open(folder / "set" / "penstock.json").size() == kSamples);
}
