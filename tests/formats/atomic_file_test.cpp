// Tests files that must be durable: it records the calls, as this program's own fsync and rename come before libc's.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <formats/io/atomic_file.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <formats/packed/dataset_writer.hpp>
#include <formats/packed/journal.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

using namespace penstock;
using penstock::test::bytes_of;
using penstock::test::read_file;
using penstock::test::TemporaryFolder;
using penstock::test::write_file;

namespace fs = std::filesystem;

namespace {

std::mutex g_mutex;  // guards what follows: shards may be completed on a thread of their own
std::vector<std::string> g_calls;
std::string g_refused;                // the call that fails
std::vector<std::uint64_t> g_random;  // what getrandom gives, the last first; then the system's

bool note(const std::string& call) {
  const std::lock_guard lock(g_mutex);
  g_calls.push_back(call);
  return !g_refused.empty() && call.starts_with(g_refused);
}

fs::path path_of(int fd) {
  std::error_code ignored;
  return fd == AT_FDCWD ? fs::current_path() : fs::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
}

int answered(long result) {
  if (result >= 0) return static_cast<int>(result);
  return -1;
}

std::size_t position(const std::string& call, std::size_t from = 0) {
  const auto found = std::find(g_calls.begin() + static_cast<std::ptrdiff_t>(from), g_calls.end(), call);
  REQUIRE_MESSAGE(found != g_calls.end(), "never called: " << call);
  return static_cast<std::size_t>(found - g_calls.begin());
}

struct Taken {
  explicit Taken(std::string refused = "") {
    g_calls.clear();
    g_refused = std::move(refused);
  }
  ~Taken() { g_refused.clear(); }
};

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int fsync(int fd) {
  if (note("fsync " + path_of(fd).string())) {
    errno = EIO;
    return -1;
  }
  return answered(::syscall(SYS_fsync, fd));
}
__attribute__((visibility("default"))) int renameat(int from_folder, const char* from, int to_folder,
                                                    const char* to) noexcept {
  note("rename " + (path_of(from_folder) / from).string() + " " + (path_of(to_folder) / to).string());
  return answered(::syscall(SYS_renameat, from_folder, from, to_folder, to));
}
__attribute__((visibility("default"))) ssize_t getrandom(void* into, std::size_t bytes, unsigned flags) {
  if (g_random.empty() || bytes != sizeof(g_random.back())) return ::syscall(SYS_getrandom, into, bytes, flags);
  std::memcpy(into, &g_random.back(), bytes);
  g_random.pop_back();
  return static_cast<ssize_t>(bytes);
}
__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
}

TEST_CASE("a file is durable before it has its name, and its name before the call returns") {
  const TemporaryFolder folder;
  const Taken taken;
  write_atomically(folder / "a.json", bytes_of("content"));
  CHECK(read_file(folder / "a.json") == "content");
  REQUIRE(g_calls.size() == 3);
  REQUIRE(g_calls[1].starts_with("rename "));
  const std::string temporary = g_calls[1].substr(7, g_calls[1].find(' ', 7) - 7);
  CHECK(temporary.starts_with((folder / ".a.json.").string()));
  CHECK(g_calls[0] == "fsync " + temporary);
  CHECK(g_calls[1] == "rename " + temporary + " " + (folder / "a.json").string());
  CHECK(g_calls[2] == "fsync " + folder.path().string());
}

TEST_CASE("a temporary name is drawn, and what lies under it already is left as it is") {
  const TemporaryFolder folder;
  const auto name = [&](std::uint64_t number) { return folder / (".a.json." + hexadecimal(number) + ".tmp"); };
  write_file(folder / "precious", "kept");
  write_file(name(1), "of another");
  fs::create_symlink(folder / "precious", name(2));
  fs::create_symlink(folder / "nowhere", name(3));
  g_random = {4, 3, 2, 1};
  const Taken taken;
  write_atomically(folder / "a.json", bytes_of("content"));
  position("rename " + name(4).string() + " " + (folder / "a.json").string());
  CHECK(read_file(folder / "a.json") == "content");
  CHECK(read_file(folder / "precious") == "kept");
  CHECK(read_file(name(1)) == "of another");
  CHECK(fs::read_symlink(name(2)) == folder / "precious");
  CHECK_FALSE(fs::exists(folder / "nowhere"));
}

TEST_CASE("a file has the permissions that are asked for") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  write_atomically(folder / "a", bytes_of("content"));
  write_atomically(folder / "b", {bytes_of("con"), bytes_of("tent")}, 0640);
  ::umask(before);
  CHECK(fs::status(folder / "a").permissions() == fs::perms(0666));
  CHECK(fs::status(folder / "b").permissions() == fs::perms(0640));
  CHECK(read_file(folder / "b") == "content");
}

TEST_CASE("a pipe gets the bytes, and is not replaced") {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string got;
  {
    const std::jthread reader([&] { got = read_file(pipe); });
    write_atomically(pipe, bytes_of("content"));
  }
  CHECK(got == "content");
  CHECK(fs::is_fifo(pipe));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("what stands under the name that a folder is to have stays") {
  const TemporaryFolder folder;
  write_file(folder / "new", "new");
  write_file(folder / "file", "kept");
  fs::create_symlink(folder / "nowhere", folder / "link");
  for (const char* there : {"file", "link"}) {
    CAPTURE(there);
    CHECK_THROWS_WITH_AS(rename_durably(folder / "new", folder / there), doctest::Contains("cannot rename"), Error);
  }
  CHECK(read_file(folder / "new") == "new");
  CHECK(read_file(folder / "file") == "kept");
  CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("of a packing that goes on, each whole shard is in the journal on the disk, and what a resume leaves out") {
  const TemporaryFolder folder;
  DatasetWriterOptions options{.format = "tar", .fields = {{.name = "bin", .codec = ""}}, .classes = {}};
  options.shard_size = 1;
  const std::string journal = "fsync " + (folder / "set.partial" / Journal::kFileName).string();
  const Taken taken;
  const auto add = [](DatasetWriter& writer, int number) {
    const auto bytes = bytes_of("content");
    const std::vector<FieldValue> values{{.field = 0, .bytes = bytes, .crc32c = crc32c(bytes), .header = {}}};
    writer.add(std::to_string(number), values);
  };
  const auto synced = [&] { return std::count(g_calls.begin(), g_calls.end(), journal); };
  {
    DatasetWriter writer(folder / "set", options);
    const auto begun = synced();
    for (int i = 0; i < 4; ++i) {
      add(writer, i);
      CHECK(synced() == begun + i);  // the shard of this one is not full yet
    }
  }
  options.resume = true;
  const auto before = synced();
  const DatasetWriter resumed(folder / "set", options);
  CHECK(synced() > before);
}

TEST_CASE("a file whose fsync fails does not appear, and leaves nothing") {
  const TemporaryFolder folder;
  write_file(folder / "a.json", "before");
  const Taken taken("fsync " + (folder / ".a.json.").string());
  CHECK_THROWS_WITH_AS(write_atomically(folder / "a.json", bytes_of("after")), doctest::Contains("a.json"), Error);
  CHECK(read_file(folder / "a.json") == "before");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a folder whose fsync fails is an error") {
  const TemporaryFolder folder;
  const Taken taken("fsync " + folder.path().string());
  CHECK_THROWS_AS(write_atomically(folder / "a.json", bytes_of("content")), Error);
  CHECK_THROWS_AS(sync_folder(folder.path()), Error);
}

TEST_CASE("a packed dataset is on the disk, file by file and name by name, before it appears") {
  for (const std::string format : {"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"}) {
    CAPTURE(format);
    const TemporaryFolder folder;
    const Taken taken;
    {
      DatasetWriter writer(folder / "set", {.format = format, .fields = {{.name = "bin", .codec = ""}}, .classes = {}});
      for (int i = 0; i < 3; ++i) {
        const std::vector<FieldValue> values{
            {.field = 0, .bytes = bytes_of("content"), .crc32c = crc32c(bytes_of("content")), .header = {}}};
        writer.add(std::to_string(i), values);
      }
      writer.skip({.sample = 3, .key = "3", .field = "bin", .cause = "left out"});
      writer.finish();
    }
    const fs::path partial = folder / "set.partial";
    const std::size_t appeared = position("rename " + partial.string() + " " + (folder / "set").string());
    position("fsync " + folder.path().string(), appeared);  // its name
    const std::size_t listed = position("fsync " + partial.string());
    CHECK(listed < appeared);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "set")) {
      if (!entry.is_regular_file()) continue;
      const fs::path name = entry.path().lexically_relative(folder / "set");
      const fs::path parent = (partial / name).parent_path();
      const bool synced = std::any_of(
          g_calls.begin(), g_calls.begin() + static_cast<std::ptrdiff_t>(appeared), [&](const std::string& call) {
            return call == "fsync " + (partial / name).string() ||
                   (call.starts_with("fsync " + (parent / ("." + name.filename().string() + ".")).string()));
          });
      CHECK_MESSAGE(synced, name.string() << " was not synced");
      CHECK(position("fsync " + parent.string()) < appeared);
    }
  }
}

TEST_CASE("what lies under a name that a file or folder wants for a while is neither followed nor removed") {
  const TemporaryFolder folder;
  write_file(folder / "other" / "precious", "kept");
  fs::create_directory_symlink(folder / "other", folder / "set.partial");
  DatasetWriterOptions options{.format = "tar", .fields = {{.name = "bin", .codec = ""}}, .classes = {}};
  for (const bool again : {false, true}) {
    options.overwrite = again;
    CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("is a symbolic link"), Error);
  }
  CHECK(read_file(folder / "other" / "precious") == "kept");
  CHECK(std::distance(fs::directory_iterator(folder / "other"), fs::directory_iterator()) == 1);
}

TEST_CASE("a folder takes another's place and nothing else's") {
  const TemporaryFolder folder;
  write_file(folder / "new" / "a", "new");
  write_file(folder / "old" / "a", "old");
  write_file(folder / "old.replaced" / "precious", "kept");
  const Taken taken;
  const fs::path old = replace_folder(folder / "new", folder / "old");
  CHECK(read_file(folder / "old" / "a") == "new");
  CHECK(read_file(old / "a") == "old");
  position("fsync " + folder.path().string());
  CHECK(read_file(folder / "old.replaced" / "precious") == "kept");
}
