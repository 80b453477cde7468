// Folders are listed and removed whatever memory is refused meanwhile: it ends in an exception, never in the process.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <formats/format.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/parts.hpp>
#include <penstock/error.hpp>

#include "support/refused_memory.hpp"
#include "support/temporary_folder.hpp"

using namespace penstock;
using namespace penstock::test;

namespace fs = std::filesystem;

namespace {

thread_local std::int64_t allocations_left = -1;  // before one fails; negative: none does

}  // namespace

bool penstock::test::refuses_allocation() noexcept {
  return allocations_left >= 0 && allocations_left-- == 0;
}

namespace {

/// Each allocation of `work` is refused in turn; the number of those that it made.
template <class Work>
int refused_in_turn(const Work& work) {
  for (int refused = 0;; ++refused) {
    allocations_left = refused;
    bool whole = false;
    try {
      work();
      whole = allocations_left >= 0;
    } catch (const std::bad_alloc&) {
    } catch (const Error&) {
    }
    allocations_left = -1;
    if (whole) return refused;
  }
}

void fill(const fs::path& folder) {
  for (const char* name : {"a file with a name that takes memory.txt", "below/another file with a long name.txt", ".b"})
    write_file(folder / name, "content");
  fs::create_symlink("nowhere", folder / "link to nothing at all");
}

}  // namespace

TEST_CASE("names of a folder are visited once each, until enough were seen") {
  const TemporaryFolder folder;
  CHECK(is_empty_folder(folder.path()));
  fill(folder.path());
  std::multiset<std::string> names;
  visit_names(folder.path(), [&](const char* name) { return names.emplace(name), true; });
  CHECK(names == std::multiset<std::string>{".b", "a file with a name that takes memory.txt", "below",
                                            "link to nothing at all"});
  int visits = 0;
  visit_names(folder.path(), [&](const char*) { return ++visits < 2; });
  CHECK(visits == 2);
  CHECK_FALSE(is_empty_folder(folder.path()));
  CHECK_THROWS_WITH_AS(visit_names(folder / "none", [](const char*) { return true; }), doctest::Contains("none"),
                       Error);
}

TEST_CASE("a tree is removed, links in it and what they lead to left as they are") {
  const TemporaryFolder folder;
  fill(folder / "kept");
  fill(folder / "tree");
  fs::create_directory_symlink(folder / "kept", folder / "tree" / "below" / "link");
  fs::create_directory_symlink(folder / "kept", folder / "link");
  remove_tree(folder / "tree");
  CHECK_FALSE(fs::exists(folder / "tree"));
  remove_tree(folder / "link");
  CHECK_FALSE(fs::exists(fs::symlink_status(folder / "link")));
  remove_tree(folder / "kept" / ".b");
  CHECK(std::distance(fs::directory_iterator(folder / "kept"), {}) == 3);
  remove_tree(folder / "nothing");
  CHECK_THROWS_AS(remove_tree("/proc/self/status"), Error);
}

TEST_CASE("memory refused while a folder is listed or removed ends in an exception") {
  const TemporaryFolder folder;
  const fs::path tree = folder / "a folder whose name takes memory";
  fill(tree);
  for (const Format& format : formats()) {
    CAPTURE(format.name);
    refused_in_turn([&] { format.find_shards(tree); });
  }
  refused_in_turn([&] { is_empty_folder(tree); });
  refused_in_turn([&] { holds_parts(tree); });
  refused_in_turn([&] { parts_in(tree); });
  CHECK(refused_in_turn([&] {
          try {
            require_ours(tree);
          } catch (const Error& error) {
            if (error.kind() != ErrorKind::invalid_argument) throw;
          }
        }) > 0);
  CHECK(refused_in_turn([&] { remove_tree(tree); }) > 0);
  CHECK_FALSE(fs::exists(tree));
}
