// Tests sidecars of data that were written again, touched, copied or changed while they were indexed.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/folder/folder.hpp>
#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <formats/tar/tar.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/processes.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::stale_sidecar_test {

namespace fs = std::filesystem;

namespace {

constexpr int kSamples = 400;

std::string key_of(int number) {
  return "sample" + std::to_string(1000 + number);
}

std::string value_of(const std::string& key, int version = 0) {
  std::string value;
  while (value.size() < 1900) value += key + " " + std::to_string(version) + "\n";
  return value;
}

std::vector<int> in_order() {
  std::vector<int> order(kSamples);
  for (int i = 0; i < kSamples; ++i) order[static_cast<std::size_t>(i)] = i;
  return order;
}

// As before at the beginning, in the middle and at the end, where a stamp looks.
std::vector<int> reordered() {
  std::vector<int> order = in_order();
  std::reverse(order.begin() + 60, order.begin() + 140);
  return order;
}

void write_shard(const std::string& format, const fs::path& path, const std::vector<int>& order, int version = 0) {
  const auto writer = format_named(format)->write(path, {.fields = {{.name = "txt", .codec = "txt"}}, .align = 1});
  for (const int number : order) {
    const std::string value = value_of(key_of(number), version);
    const FieldValue field{
        .field = 0, .bytes = test::bytes_of(value), .crc32c = crc32c(test::bytes_of(value)), .header = {}};
    writer->add(key_of(number), std::span(&field, 1));
  }
  writer->finish();
}

/// The text of every sample by `index` is that of its key, which every sample has.
void check_rows(const fs::path& shard, int version = 0) {
  const Dataset dataset = penstock::open(shard);
  CHECK(dataset.size() == kSamples);
  int wrong = 0;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    const std::string value = text_of(read_field(dataset, sample, *dataset.field("txt")));
    wrong += value == value_of(std::string(dataset.key(sample)), version) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

void set_times_of(const fs::path& file, const struct stat& before) {
  const timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

struct stat status_of(const fs::path& file) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status;
}

void touch(const fs::path& file) {
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0);
}

fs::path g_log;                         // the counting format appends a letter for what it does
std::function<void()> g_while_indexed;  // what happens meanwhile

void log(char what) {
  std::ofstream(g_log, std::ios::app) << what;
}

Index count_and_index(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  log('i');
  Index index = kTar.index(shard, root, progress);
  if (g_while_indexed) g_while_indexed();
  return index;
}

bool count_and_prove(const fs::path& shard, const Index& index, const OpenProgress& progress) {
  log('p');
  return kTar.proves(shard, index, progress);
}

/// A tar and the tar format, with a log of what was done: 'i' indexed, 'p' proved.
struct Setting {
  TemporaryFolder folder;
  fs::path shard = folder / "data" / "a.tar";
  fs::path sidecar = folder / "data" / "a.tar.penstock-idx";
  Format format = kTar;

  Setting() {
    g_log = folder / "log";
    g_while_indexed = nullptr;
    format.index = count_and_index;
    format.proves = count_and_prove;
    ::setenv("PENSTOCK_INDEX_DIR", (folder / "indexes").c_str(), 1);
    fs::create_directories(shard.parent_path());
    write_shard("tar", shard, in_order());
  }
  ~Setting() { ::unsetenv("PENSTOCK_INDEX_DIR"); }

  ProvenIndex open() const { return sidecar_index(format, shard, {}); }
  std::string done() const { return fs::exists(g_log) ? read_file(g_log) : ""; }
};

}  // namespace

TEST_CASE("a shard made again with its members in another order is read by a new index, mtime set back or not") {
  for (const std::string format : {"tar", "zip", "tfrecord", "hdf5"}) {
    for (const bool set_back : {false, true}) {
      CAPTURE(format);
      CAPTURE(set_back);
      const TemporaryFolder folder;
      const fs::path shard = folder / ("shard" + std::string(format_named(format)->extension));
      write_shard(format, shard, in_order());
      const std::uint64_t stamp = format_named(format)->stamp(shard);
      check_rows(shard);
      const struct stat before = status_of(shard);
      const fs::path other = folder / "other";
      write_shard(format, other, reordered());
      CHECK(fs::file_size(other) == fs::file_size(shard));
      if (format == "tar" || format == "tfrecord") CHECK(format_named(format)->stamp(other) == stamp);
      write_file(shard, read_file(other));
      fs::remove(other);
      if (set_back) set_times_of(shard, before);
      check_rows(shard);
    }
  }
}

TEST_CASE("a shard that its stamp cannot tell from another is told by its index, where nothing else proves it") {
  // In the middle, where no stamp looks, other lengths (LMDB, whose keys are sorted) or another order (HDF5).
  const auto longer = [](const std::string& format, int version, int number) {
    return format == "lmdb" && number >= 150 && number < 250 && number % 2 == version;
  };
  const auto key = [](int number) { return key_of(number) + std::string(400, 'k'); };
  const auto text = [&](const std::string& format, int version, int number) {
    return value_of(key(number)) + (longer(format, version, number) ? "longer" : "");
  };
  for (const std::string format : {"hdf5", "lmdb"}) {
    CAPTURE(format);
    const TemporaryFolder folder;
    const fs::path shard = folder / ("shard" + std::string(format_named(format)->extension)), other = folder / "other";
    for (const int version : {0, 1}) {
      const auto writer = format_named(format)->write(version == 0 ? shard : other,
                                                      {.fields = {{.name = "txt", .codec = "txt"}}, .align = 1});
      for (int place = 0; place < kSamples; ++place) {
        const int number = format == "hdf5" && place >= 200 && place < 300 ? place ^ version : place;
        const std::string value = text(format, version, number);
        const FieldValue field{
            .field = 0, .bytes = test::bytes_of(value), .crc32c = crc32c(test::bytes_of(value)), .header = {}};
        writer->add(key(number), std::span(&field, 1));
      }
      writer->finish();
    }
    const auto check = [&](int version) {
      const Dataset dataset = penstock::open(shard);
      for (const int number : {0, 230, 231, 399}) {
        CAPTURE(number);
        const std::uint64_t sample = dataset.find(key(number)).value();
        CHECK(text_of(read_field(dataset, sample, *dataset.field("txt"))) == text(format, version, number));
      }
    };
    check(0);
    REQUIRE(format_named(format)->stamp(shard) == format_named(format)->stamp(other));
    const auto file_of = [&](const fs::path& path) { return format == "lmdb" ? path / "data.mdb" : path; };
    write_file(file_of(shard), read_file(file_of(other)));
    check(1);
  }
}

TEST_CASE("values written again in place, of equal length, are those that are read") {
  for (const std::string format : {"tar", "zip", "tfrecord", "hdf5", "lmdb"}) {
    CAPTURE(format);
    const TemporaryFolder folder;
    const fs::path shard = folder / ("shard" + std::string(format_named(format)->extension));
    const fs::path file = format == "lmdb" ? shard / "data.mdb" : shard;
    write_shard(format, shard, in_order());
    check_rows(shard);
    write_shard(format, folder / "other", in_order(), 7);
    write_file(file, read_file(format == "lmdb" ? folder / "other" / "data.mdb" : folder / "other"));
    fs::remove_all(folder / "other");
    check_rows(shard, 7);
  }
}

TEST_CASE("what touches a shard without writing to it costs one proof and no index") {
  const Setting setting;
  setting.open();
  setting.open();
  CHECK(setting.done() == "i");
  std::string expected = "i";
  const auto once = [&](const std::function<void()>& change) {
    change();
    CHECK(setting.open().index.size() == kSamples);
    CHECK(setting.done() == (expected += "p"));
    const struct stat before = status_of(setting.sidecar);
    CHECK(setting.open().index.size() == kSamples);
    CHECK(setting.done() == expected);
    CHECK(status_of(setting.sidecar).st_ino == before.st_ino);
  };
  once([&] { touch(setting.shard); });
  once([&] { fs::permissions(setting.shard, fs::perms::owner_all); });
  once([&] {  // a copy in its place, with the sidecar
    fs::copy_file(setting.shard, setting.folder / "copy");
    fs::rename(setting.folder / "copy", setting.shard);
  });
}

TEST_CASE("a shard and its sidecar copied elsewhere cost one proof") {
  Setting setting;
  setting.open();
  fs::copy(setting.folder / "data", setting.folder / "copy", fs::copy_options::recursive);
  setting.shard = setting.folder / "copy" / "a.tar";
  setting.open();
  setting.open();
  CHECK(setting.done() == "ip");
}

TEST_CASE("64 processes that open a shard after touch make no index, and prove it once") {
  const Setting setting;
  setting.open();
  touch(setting.shard);
  test::check_in_processes(64, [&] { return setting.open().index.size() == kSamples; });
  CHECK(setting.done() == "ip");
}

TEST_CASE("a sidecar of version 1 is proved once, then stamped") {
  const Setting setting;
  setting.open();
  std::string bytes = read_file(setting.sidecar);
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
  };
  put(8, 1, 4);
  put(56, 0, 8);
  put(12, 0, 4);
  put(12, crc32c(test::bytes_of(bytes).first(64)), 4);
  write_file(setting.sidecar, bytes);
  setting.open();
  setting.open();
  CHECK(setting.done() == "ip");
}

TEST_CASE("where the sidecar cannot be written each open proves it, and a place for indexes takes the stamp") {
  const Setting setting;
  setting.open();
  touch(setting.shard);
  fs::permissions(setting.shard.parent_path(), fs::perms::owner_read | fs::perms::owner_exec);
  write_file(setting.folder / "indexes", "a file where the folder should be");
  setting.open();
  setting.open();
  CHECK(setting.done() == "ipp");
  fs::remove(setting.folder / "indexes");
  setting.open();
  setting.open();
  CHECK(setting.done() == "ippp");
  fs::permissions(setting.shard.parent_path(), fs::perms::owner_all);
}

TEST_CASE("a shard that is written to while it is indexed is indexed again, or refused") {
  Setting setting;
  int left = 1;
  g_while_indexed = [&] {
    if (left-- > 0) write_shard("tar", setting.folder / "other", reordered());
    if (left == 0) write_file(setting.shard, read_file(setting.folder / "other"));
  };
  setting.open();
  CHECK(setting.done() == "ii");
  check_rows(setting.shard);
  fs::remove(setting.sidecar);
  g_while_indexed = [&] { std::ofstream(setting.shard, std::ios::app) << std::string(512, '\0'); };
  CHECK_THROWS_WITH_AS(setting.open(), doctest::Contains("is being written to"), Error);
  CHECK_FALSE(fs::exists(setting.sidecar));
}

TEST_CASE("a file's identity is all that the system says of it") {
  const TemporaryFolder folder;
  write_file(folder / "a", "content");
  const timespec times[2] = {{.tv_sec = 1, .tv_nsec = 2}, {.tv_sec = 3, .tv_nsec = 4}};
  REQUIRE(::utimensat(AT_FDCWD, (folder / "a").c_str(), times, 0) == 0);
  const struct stat status = status_of(folder / "a");
  const FileIdentity identity = identity_of(folder / "a");
  CHECK(identity.device == status.st_dev);
  CHECK(identity.inode == status.st_ino);
  CHECK(identity.size == 7);
  CHECK(identity.modified == 3'000'000'004);
  CHECK(identity.changed == status.st_ctim.tv_sec * std::int64_t{1'000'000'000} + status.st_ctim.tv_nsec);
  CHECK(identity_by_name(folder / "a") == identity);
  CHECK(identity_of(status) == identity);
  CHECK_FALSE(identity_by_name(folder / "b"));
}

TEST_CASE("a pinned file is proved once for each other state, and not at all where it must be another file") {
  const Index index = IndexBuilder().finish();
  const FileIdentity good{.device = 1, .inode = 2, .size = 3, .modified = 4, .changed = 5};
  for (const bool of_content : {false, true}) {
    int asked = 0;
    bool answer = true;
    const auto prove = [&](const Index&, std::uint32_t, const FileIdentity&) { return ++asked, answer; };
    const ShardPins pins({good}, {.prove = prove, .of_content = of_content});
    const auto holds = [&](const FileIdentity& now) {
      asked = 0;
      return pins.hold(0, "a", now, index);
    };
    CHECK(holds(good));
    CHECK(asked == 0);
    FileIdentity touched = good;
    touched.modified = touched.changed = 6;
    for (const int proofs : {1, 0}) {
      CHECK(holds(touched));
      CHECK(asked == proofs);
    }
    FileIdentity longer = touched;
    longer.size = 4;
    CHECK_FALSE(holds(longer));
    CHECK(asked == 0);
    FileIdentity copied = touched;
    copied.inode = 7;
    CHECK(holds(copied));
    CHECK(asked == 1);
    FileIdentity other = copied;
    other.inode = 8;
    other.modified = 9;
    CHECK(holds(other) == of_content);
    CHECK(asked == (of_content ? 1 : 0));
    answer = false;
    FileIdentity written = of_content ? other : copied;
    written.changed = 10;
    for (const int proofs : {1, 0}) {
      CHECK_FALSE(holds(written));
      CHECK(asked == proofs);
    }
  }
}

TEST_CASE("a file that was written a moment ago is not told from one that is written again now") {
  constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond, kNow = 1'700'000'000 * kSecond;
  const FileIdentity fine{.modified = kNow - kSecond, .changed = kNow - 5 * kMillisecond + 123};
  CHECK(until_settled(fine, kNow) == 15 * kMillisecond + 123);
  CHECK(until_settled(fine, kNow + kSecond) == 0);
  const FileIdentity coarse{.modified = kNow - kSecond, .changed = kNow - kSecond};  // whole seconds, as FAT keeps them
  CHECK(until_settled(coarse, kNow) == kSecond);
  CHECK(until_settled(coarse, kNow + kSecond) == 0);
  const FileIdentity set_back{.modified = kNow - 100 * kSecond, .changed = kNow};  // touch -d
  CHECK(until_settled(set_back, kNow) > 0);
  const FileIdentity ahead{.modified = kNow + 100 * kSecond, .changed = kNow - 10 * kSecond};
  CHECK(until_settled(ahead, kNow) == 0);
}

TEST_CASE("written again right behind the index, within one tick of the clock, a shard is not taken for the same") {
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder folder;
    const fs::path shard = folder / "a.tar";
    write_shard("tar", shard, in_order());
    write_shard("tar", folder / "other", reordered());
    const std::string other = read_file(folder / "other");
    fs::remove(folder / "other");
    check_rows(shard);
    write_file(shard, other);
    check_rows(shard);
  }
}

TEST_CASE("a folder of files is read as it is: changed, renamed, removed and added files, and classes") {
  const TemporaryFolder folder;
  const fs::path data = folder / "data";
  for (const char* name : {"cat/1.jpg", "cat/2.jpg", "dog/3.jpg"}) write_file(data / name, name);
  const auto value = [&](std::string_view key) {
    const Dataset dataset = penstock::open(data);
    return text_of(read_field(dataset, *dataset.find(key), *dataset.field("jpg")));
  };
  CHECK(value("cat/1") == "cat/1.jpg");
  const struct stat before = status_of(data / "cat/1.jpg");
  write_file(data / "cat/1.jpg", "dog/9.jpg");  // as long as before
  CHECK(value("cat/1") == "dog/9.jpg");
  write_file(data / "cat/1.jpg", "longer than before");
  set_times_of(data / "cat/1.jpg", before);
  CHECK(value("cat/1") == "longer than before");
  fs::rename(data / "cat/2.jpg", data / "cat/4.jpg");
  CHECK(value("cat/4") == "cat/2.jpg");
  CHECK_FALSE(penstock::open(data).find("cat/2"));
  fs::remove(data / "dog/3.jpg");
  CHECK(penstock::open(data).size() == 2);
  write_file(data / "ant/5.jpg", "ant/5.jpg");
  CHECK(penstock::open(data).classes().size() == 3);
  CHECK(penstock::open(data).classes().front() == "ant");
}

}  // namespace penstock::test::stale_sidecar_test
