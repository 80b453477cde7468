// The calls that make files durable are taken down here: this program's own fsync and rename come before libc's.
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <penstock/formats/atomic_file.hpp>
#include <penstock/formats/crc32c.hpp>
#include <penstock/formats/dataset_writer.hpp>
#include <penstock/formats/error.hpp>

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
std::string g_refused;  // the call that fails

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
      const bool synced = std::any_of(g_calls.begin(), g_calls.begin() + static_cast<std::ptrdiff_t>(appeared), [&](const std::string& call) {
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
    CHECK_THROWS_WITH_AS(DatasetWriter(folder / "set", options), doctest::Contains("is a link"), Error);
  }
  CHECK(read_file(folder / "other" / "precious") == "kept");
  CHECK(std::distance(fs::directory_iterator(folder / "other"), fs::directory_iterator()) == 1);
}

TEST_CASE("a folder takes another's place and nothing else's") {
  const TemporaryFolder folder;
  write_file(folder / "new" / "a", "new");
  write_file(folder / "old" / "a", "old");
  write_file(folder / "old.replaced" / "precious", "kept");
  const fs::path old = replace_folder(folder / "new", folder / "old");
  CHECK(read_file(folder / "old" / "a") == "new");
  CHECK(read_file(old / "a") == "old");
  CHECK(read_file(folder / "old.replaced" / "precious") == "kept");
}
