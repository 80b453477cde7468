// Tests the reader of LMDB pages beside liblmdb, with files cut, flipped, and written by others meanwhile.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <lmdb.h>

#include <formats/index/index.hpp>
#include <formats/lmdb/lmdb.hpp>
#include <formats/lmdb/pages.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/kind_of_failure.hpp"
#include "support/lmdb_files.hpp"
#include "support/random_samples.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::lmdb_pages_test {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kSeed = 7411;

std::map<std::string, std::string> walked(const fs::path& file) {
  const LmdbPages pages(file);
  const std::string content = read_file(file);
  std::map<std::string, std::string> values;
  pages.walk(pages.meta().main, [&](const LmdbEntry& entry) {
    values[std::string(entry.name)] = content.substr(entry.offset, entry.length);
  });
  return values;
}

std::map<std::string, std::string> random_values(std::size_t count) {
  std::mt19937 random(kSeed);
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = i % 7 == 0 ? random() % 40'000 : random() % 2500;
    values[random_bytes(random, 1 + random() % 511)] = random_bytes(random, length);
  }
  return values;
}

}  // namespace

TEST_CASE("the page walker finds every value that liblmdb finds, through splits, deletions and rewrites") {
  const TemporaryFolder folder;
  Reference reference(folder.path());
  const auto values = random_values(3000);
  reference.put(values);
  CHECK(walked(folder / "data.mdb") == values);
  std::size_t i = 0;
  for (const auto& [name, value] : values) {
    if (i++ % 20 == 0) reference.erase(name);
    if (i % 90 == 0) reference.put({{name, value + "longer"}});
  }
  CHECK(walked(folder / "data.mdb") == reference.all());
}

TEST_CASE("an empty database has no entries") {
  const TemporaryFolder folder;
  Reference reference(folder.path());
  CHECK(walked(folder / "data.mdb").empty());
  CHECK(lmdb_index(folder.path()).size() == 0);
}

TEST_CASE("real files hold the values that liblmdb reads from them") {
  const char* data = std::getenv("PENSTOCK_TEST_DATA");
  const fs::path root = data == nullptr ? fs::path() : fs::path(data) / "lmdb";
  if (data == nullptr || !fs::exists(root)) {
    penstock::test::skip("PENSTOCK_TEST_DATA has no lmdb folder");
    return;
  }
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "data.mdb") continue;
    CAPTURE(entry.path());
    ++files;
    const auto found = walked(entry.path());
    CHECK_FALSE(found.empty());
    CHECK(found == Reference(entry.path().parent_path(), MDB_RDONLY).all());
    const Index index = lmdb_index(entry.path().parent_path());
    CHECK(index.size() != 0);
    CHECK_FALSE(all_fields(index, entry.path().parent_path().parent_path()).empty());
  }
  CHECK(files == 6);
}

TEST_CASE("a commit while the pages are walked is an error") {
  const TemporaryFolder folder;
  Reference reference(folder.path());
  reference.put({{"a.txt", "1"}});
  const LmdbPages pages(folder / "data.mdb");
  pages.require_unchanged();
  reference.put({{"b.txt", "2"}});
  CHECK(kind_of_failure([&] { pages.require_unchanged(); }) == ErrorKind::resource);
}

TEST_CASE("cut and flipped files give an error or an index, never more") {
  const TemporaryFolder folder;
  {
    Reference reference(folder / "good");
    reference.put(random_values(400));
  }
  const std::string good = read_file(folder / "good" / "data.mdb");
  const fs::path broken = folder / "broken.mdb";
  std::size_t refused = 0;
  auto attempt = [&](const std::string& content) {
    write_file(broken, content);
    try {
      const Index index = lmdb_index(broken);
      CHECK(index.size() <= 400);
    } catch (const Error& error) {
      ++refused;
      CHECK((error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::unsupported));
    }
  };
  for (std::size_t length = 0; length < good.size(); length += good.size() / 60) attempt(good.substr(0, length));
  CHECK(refused >= 60);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 150; ++round) {
    std::string flipped = good;
    const std::size_t page = random() % (good.size() / 4096) * 4096;
    for (int i = 0; i < 3; ++i) flipped[page + random() % 160] ^= static_cast<char>(1U << random() % 8);  // headers
    attempt(flipped);
  }
}

}  // namespace penstock::test::lmdb_pages_test
