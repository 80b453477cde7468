#include <chrono>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/extent.hpp>
#include <formats/folder/folder.hpp>
#include <formats/index/index.hpp>
#include <formats/io/ownership.hpp>
#include <formats/sidecar/sidecar.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "support/processes.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::sidecar_test {

namespace fs = std::filesystem;

namespace {

fs::path g_built;  // the counting format appends a byte to this file for every index it makes

Index count_and_index(const fs::path& shard, const fs::path& root, const OpenProgress& progress) {
  std::ofstream(g_built, std::ios::app) << '+';
  ::usleep(50'000);  // so that a second process comes while this one works
  return kFolder.index(shard, root, progress);
}

// The folder format, with a count of the indexes made.
Format counting_format() {
  Format format = kFolder;
  format.index = count_and_index;
  return format;
}

struct Setting {
  TemporaryFolder folder;
  fs::path data = folder / "data";
  Format format = counting_format();

  Setting() {
    g_built = folder / "built";
    ::setenv("PENSTOCK_INDEX_DIR", (folder / "indexes").c_str(), 1);
    for (int i = 0; i < 20; ++i) write_file(data / "a" / (std::to_string(i) + ".jpg"), "content");
  }
  ~Setting() { ::unsetenv("PENSTOCK_INDEX_DIR"); }

  std::uint64_t open() const { return sidecar_index(format, data, {}).index.size(); }
  std::size_t built() const { return fs::exists(g_built) ? fs::file_size(g_built) : 0; }
};

}  // namespace

TEST_CASE("a sidecar is made once, beside the data, and used until the data change") {
  const Setting setting;
  CHECK(setting.open() == 20);
  CHECK(setting.open() == 20);
  CHECK(setting.built() == 1);
  CHECK(fs::exists(setting.data / ".penstock-idx"));
  CHECK_FALSE(fs::exists(setting.data / ".penstock-idx.lock"));
  write_file(setting.data / "a" / "new.jpg", "content");
  CHECK(setting.open() == 21);
  CHECK(setting.built() == 2);
}

TEST_CASE("a sidecar copied with its data stays good") {
  const Setting setting;
  setting.open();
  const fs::path copy = setting.folder / "copy";
  fs::copy(setting.data, copy, fs::copy_options::recursive);
  fs::remove_all(setting.data);
  const Index index = sidecar_index(setting.format, copy, {}).index;
  CHECK(setting.built() == 1);
  CHECK(index.file(0).path == "a/0.jpg");
}

TEST_CASE("a sidecar cut short, flipped in its header, or of nonsense is made again silently") {
  const Setting setting;
  setting.open();
  const fs::path sidecar = setting.data / ".penstock-idx";
  const std::string whole = read_file(sidecar);
  std::size_t built = 1;
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{10}, std::size_t{64}, std::size_t{200}, whole.size() - 1}) {
    write_file(sidecar, whole.substr(0, length));
    CHECK(setting.open() == 20);
    CHECK(setting.built() == ++built);
    CHECK(read_file(sidecar) == whole);
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{70}, std::size_t{130}}) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    write_file(sidecar, flipped);
    CHECK(setting.open() == 20);
    CHECK(setting.built() == ++built);
  }
}

TEST_CASE("where the data cannot be written, the sidecar goes to PENSTOCK_INDEX_DIR") {
  const Setting setting;
  fs::create_directories(setting.data / ".penstock-idx.lock");  // a folder of that name: no lock, no sidecar here
  CHECK(setting.open() == 20);
  CHECK_FALSE(fs::exists(setting.data / ".penstock-idx"));
  REQUIRE(fs::exists(setting.folder / "indexes"));
  CHECK(setting.open() == 20);
  CHECK(setting.built() == 1);
}

TEST_CASE("a folder marked read-only is left alone, by root too") {
  const Setting setting;
  fs::permissions(setting.data, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(setting.open() == 20);
  CHECK_FALSE(fs::exists(setting.data / ".penstock-idx"));
  CHECK(setting.open() == 20);
  CHECK(setting.built() == 1);
  fs::permissions(setting.data, fs::perms::owner_all);
}

TEST_CASE("where nothing can be written, the index is held in memory") {
  const Setting setting;
  fs::create_directories(setting.data / ".penstock-idx.lock");
  write_file(setting.folder / "indexes", "a file where the folder should be");
  CHECK(setting.open() == 20);
  CHECK(setting.open() == 20);
  CHECK(setting.built() == 2);
}

TEST_CASE("the cache folder is PENSTOCK_INDEX_DIR, else XDG_CACHE_HOME, else the home folder's") {
  ::setenv("PENSTOCK_INDEX_DIR", "/indexes", 1);
  CHECK(sidecar_paths("/x/a.tar").at(0) == "/x/a.tar.penstock-idx");
  CHECK(sidecar_paths("/x/a.tar").at(1).parent_path() == "/indexes");
  ::unsetenv("PENSTOCK_INDEX_DIR");
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  CHECK(sidecar_paths("/x/a.tar").at(1).parent_path() == "/cache/penstock");
  CHECK(sidecar_paths("/x/a.tar").at(1) != sidecar_paths("/y/a.tar").at(1));
  before == nullptr ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

TEST_CASE("processes that open at the same time make the index once") {
  const Setting setting;
  test::check_in_processes(6, [&] { return setting.open() == 20; });
  CHECK(setting.built() == 1);
  CHECK_FALSE(fs::exists(setting.data / ".penstock-idx.lock"));
}

TEST_CASE("an open that fails leaves neither sidecar nor lock") {
  const TemporaryFolder folder;
  write_file(folder / "a.jpg", "");
  write_file(folder / "a.jpeg", "");
  write_file(folder / "a.txt", "");
  CHECK_THROWS_AS(penstock::open(folder.path()), Error);
  CHECK_FALSE(fs::exists(folder / ".penstock-idx"));
  CHECK_FALSE(fs::exists(folder / ".penstock-idx.lock"));
}

TEST_CASE("a sidecar that others can write is not believed") {
  const Setting setting;
  setting.open();
  const fs::path sidecar = setting.data / ".penstock-idx";
  std::size_t built = 1;
  fs::permissions(sidecar, fs::perms::others_write, fs::perm_options::add);
  setting.open();
  CHECK(setting.built() == ++built);
  CHECK((fs::status(sidecar).permissions() & fs::perms::others_write) == fs::perms::none);
  fs::permissions(setting.data, fs::perms(0755));
  fs::permissions(sidecar, fs::perms::group_write, fs::perm_options::add);
  setting.open();
  CHECK(setting.built() == ++built);
  fs::permissions(sidecar, fs::perms::group_write, fs::perm_options::add);
  fs::permissions(setting.data, fs::perms(0775));  // whoever could write the sidecar can write the data
  setting.open();
  CHECK(setting.built() == built);
}

TEST_CASE("whose sidecars are believed") {
  struct stat index {
  }, data{};
  index.st_mode = S_IFREG | 0644;
  data.st_mode = S_IFREG | 0664;
  const uid_t me = ::geteuid();
  data.st_uid = me + 1;
  data.st_gid = 5;
  for (const uid_t owner : {me, uid_t{0}, me + 1}) {
    index.st_uid = owner;
    CHECK(is_believable(index, data));
  }
  index.st_uid = me + 2;
  CHECK_FALSE(is_believable(index, data));
  index.st_uid = me;
  index.st_mode = S_IFREG | 0646;
  CHECK_FALSE(is_believable(index, data));
  index.st_mode = S_IFREG | 0664;
  index.st_gid = 5;
  CHECK(is_believable(index, data));
  index.st_gid = 6;
  CHECK_FALSE(is_believable(index, data));
  index.st_gid = 5;
  data.st_mode = S_IFREG | 0644;
  CHECK_FALSE(is_believable(index, data));
  index.st_mode = S_IFDIR | 0755;
  CHECK_FALSE(is_believable(index, data));
}

TEST_CASE("who is not root believes root, and lets nothing grow in a folder of another user") {
  if (::geteuid() != 0) return test::skip("only root can become another user; run as root");
  constexpr uid_t kUser = 4711, kOther = 4712;
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  for (const auto& [name, owner] :
       {std::pair{"own", kUser}, std::pair{"root's", uid_t{0}}, std::pair{"other's", kOther}}) {
    fs::create_directory(folder / name);
    REQUIRE(::chown((folder / name).c_str(), owner, 0) == 0);
  }
  fs::create_directory(folder / "other's" / "root's");
  struct stat index {
  }, data{};
  index.st_mode = data.st_mode = S_IFREG | 0644;
  data.st_uid = kOther;
  REQUIRE(::seteuid(kUser) == 0);
  const auto refused = [&](const fs::path& path) {
    try {
      require_own_folder(path);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const bool of_root = is_believable(index, data);
  index.st_uid = kUser + 2;
  const bool of_stranger = is_believable(index, data);
  const std::string own = refused(folder / "own"), roots = refused(folder / "root's"),
                    others = refused(folder / "other's"), foreign = refused(folder / "other's" / "root's"),
                    none = refused(folder / "none");
  REQUIRE(::seteuid(0) == 0);
  CHECK(of_root);
  CHECK_FALSE(of_stranger);
  CHECK(own == "");
  CHECK(roots == "");  // as the folder around it
  CHECK(none == "");
  CHECK(others.find("belongs to another user") != std::string::npos);
  CHECK(foreign.find("belongs to another user") != std::string::npos);
}

TEST_CASE("a sidecar that names what a walk of its folder would not come to is not believed") {
  const Setting setting;
  write_file(setting.folder / "outside.jpg", "secret!");
  write_file(setting.data / ".hidden" / "key.jpg", "private");
  fs::create_symlink(setting.folder / "outside.jpg", setting.data / "a" / "link.jpg");  // a walk follows it
  REQUIRE(setting.open() == 21);
  const fs::path sidecar = setting.data / ".penstock-idx";
  const std::string whole = read_file(sidecar);
  CHECK(setting.open() == 21);
  CHECK(setting.built() == 1);
  std::size_t built = 1;
  for (const std::string name :
       {"a/0.jpg", "/etc/passwd", "../outside.jpg", ".hidden/key.jpg", "a/../../outside.jpg"}) {
    CAPTURE(name);
    IndexBuilder builder;
    builder.add_file({.path = name, .size = 7, .stamp = 0});
    builder.add_sample("one");
    builder.set(builder.field({.name = "jpg", .codec = "jpeg"}), Extent{0, 0, 7});
    const Index index = std::move(builder).finish();
    write_file(sidecar, whole.substr(0, 64) + penstock::test::text_of(index.bytes()));
    if (name == "a/0.jpg") {
      CHECK(setting.open() == 1);  // nothing tells that it is not the whole
    } else {
      CHECK(setting.open() == 21);
      ++built;
    }
    CHECK(setting.built() == built);
  }
}

TEST_CASE("a lock that another process keeps is waited for, with word of it, and not for ever") {
  const Setting setting;
  const fs::path lock = setting.data / ".penstock-idx.lock";
  const int held = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  REQUIRE(::flock(held, LOCK_EX) == 0);  // of another open file: as good as another process
  ::setenv("PENSTOCK_INDEX_WAIT", "1", 1);
  int told = 0;
  const OpenProgress progress([](std::uint64_t, std::uint64_t) {},
                              [&](const fs::path& path, std::chrono::milliseconds) {
                                CHECK(path == lock);
                                ++told;
                              });
  CHECK(sidecar_index(setting.format, setting.data, progress).index.size() == 20);
  CHECK(told > 0);
  CHECK_FALSE(fs::exists(setting.data / ".penstock-idx"));
  CHECK(fs::exists(lock));  // it is not ours to remove

  const OpenProgress interrupting(
      [](std::uint64_t, std::uint64_t) {},
      [](const fs::path&, std::chrono::milliseconds) { throw Error::resource("interrupted"); });
  ::setenv("PENSTOCK_INDEX_WAIT", "1000", 1);
  for (const fs::directory_entry& entry : fs::directory_iterator(setting.folder / "indexes")) fs::remove(entry.path());
  CHECK_THROWS_WITH_AS(sidecar_index(setting.format, setting.data, interrupting), doctest::Contains("interrupted"),
                       Error);
  ::unsetenv("PENSTOCK_INDEX_WAIT");
  ::close(held);
  CHECK(setting.open() == 20);
  CHECK(fs::exists(setting.data / ".penstock-idx"));
}

TEST_CASE("a link or a pipe under the lock's name is not followed, nor waited for") {
  const Setting setting;
  const fs::path lock = setting.data / ".penstock-idx.lock";
  write_file(setting.folder / "precious", "kept");
  SUBCASE("a link") {
    fs::create_symlink(setting.folder / "precious", lock);
  }
  SUBCASE("a pipe") {
    REQUIRE(::mkfifo(lock.c_str(), 0666) == 0);
  }
  CHECK(setting.open() == 20);
  CHECK_FALSE(fs::exists(setting.data / ".penstock-idx"));
  CHECK(fs::exists(fs::symlink_status(lock)));
  CHECK(read_file(setting.folder / "precious") == "kept");
}

}  // namespace penstock::test::sidecar_test
