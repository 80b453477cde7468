// Tests the folder of a disk cache: whose it may be, its limit, and that no damage makes a wrong byte.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <support/file_size_limit.hpp>
#include <support/kept_blocks.hpp>
#include <support/kind_of_failure.hpp>
#include <support/processes.hpp>
#include <support/skip.hpp>
#include <support/stored_rows.hpp>
#include <support/temporary_folder.hpp>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/thread.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/disk_cache.hpp>
#include <storage/disk_cache/object_table.hpp>
#include <storage/disk_cache/published_plan.hpp>

namespace penstock::test::disk_cache_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;

void fill(CachedObject& object, std::uint32_t file, std::uint64_t size) {
  for (std::uint64_t block = 0; block < object.block_count(); ++block)
    object.keep(block, block_of(object, file, block, size));
}

struct Held {
  std::uint64_t right = 0, wrong = 0, absent = 0;
};

Held held_of(CachedObject& object, std::uint32_t file, std::uint64_t size) {
  Held held;
  for (std::uint64_t block = 0; block < object.block_count(); ++block) {
    const std::uint64_t begin = block * object.block_bytes();
    std::vector<std::byte> bytes(std::min(object.block_bytes(), size - begin));
    if (!object.has(block) || !object.read(begin, bytes))
      ++held.absent;
    else
      ++(StoredRows::right(file, begin, bytes) ? held.right : held.wrong);
  }
  return held;
}

std::string cause_of(const fs::path& folder) {
  try {
    DiskCache::open(folder, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("what was kept is read back, in any cut, by this process and by others") {
  const TemporaryFolder folder;
  const std::uint64_t size = 3 * kMiB + 12'345;
  const auto cache = DiskCache::open(folder / "cache", 64 * kMiB);
  const auto object = cache->object(object_of(1, size), 200'000);
  REQUIRE(object != nullptr);
  CHECK(object->block_bytes() == 16384);
  fill(*object, 1, size);
  std::mt19937_64 random(3);
  const auto reads = [&](CachedObject& from) {
    bool all = true;
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t length = random() % 100'000 + 1, offset = random() % (size - length);
      std::vector<std::byte> bytes(length);
      all &= from.read(offset, bytes) && StoredRows::right(1, offset, bytes);
    }
    return all;
  };
  CHECK(reads(*object));
  check_in_processes(3, [&] {
    const auto own = DiskCache::open(folder / "cache", 0);
    return reads(*own->object(object_of(1, size), 999)) && reads(*object);
  });
  CHECK(held_of(*cache->object(object_of(1, size, "v2"), 200'000), 1, size).right == 0);
  CHECK(cache->object({"s3://bucket/1", {.size = size}}, 1) == nullptr);
  CHECK(cache->stats().limit == 64 * kMiB);
  REQUIRE(cache->objects().size() == 2);
  CHECK(cache->objects()[0].kept + cache->objects()[1].kept == size);
  CHECK(cache->clear() == size);
  CHECK(held_of(*object, 1, size).right == 0);
}

TEST_CASE("an address is told without what gives access to it") {
  const TemporaryFolder folder;
  const auto cache = DiskCache::open(folder / "cache", 64 * kMiB);
  const auto object = cache->object({"https://host/a?X-Amz-Signature=secret", {.size = 5000, .version = "v"}}, 1);
  REQUIRE(object != nullptr);
  CHECK(cache->objects().at(0).address == "https://host/a");
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) CHECK(read_file(entry.path()).find("secret") == std::string::npos);
}

TEST_CASE("a folder that is not this user's alone is refused, and so is one that holds something else") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink(folder / "real", folder / "link");
  CHECK(cause_of(folder / "link").find("link") != std::string::npos);
  fs::create_directory(folder / "open");
  ::chmod((folder / "open").c_str(), 0777);
  CHECK(cause_of(folder / "open").find("every user") != std::string::npos);
  fs::create_directory(folder / "group");
  ::chmod((folder / "group").c_str(), 0770);
  CHECK(cause_of(folder / "group").find("chmod") != std::string::npos);
  write_file(folder / "begun" / "version.tmp", "pens");  // a kill while it was made leaves this
  ::chmod((folder / "begun").c_str(), 0700);
  CHECK(cause_of(folder / "begun").empty());
  CHECK(read_file(folder / "begun" / "version") == "penstock node cache 1\n");
  write_file(folder / "full" / "thesis.tex", "text");
  CHECK(cause_of(folder / "full").find("other files") != std::string::npos);
  DiskCache::open(folder / "other", kMiB);
  write_file(folder / "other" / "version", "penstock node cache 2\n");
  CHECK(cause_of(folder / "other").find("another version") != std::string::npos);
  CHECK(read_file(folder / "full" / "thesis.tex") == "text");
  if (::geteuid() == 0) {
    fs::create_directory(folder / "theirs");
    REQUIRE(::chown((folder / "theirs").c_str(), 4242, 4242) == 0);
    CHECK(cause_of(folder / "theirs").find("belongs to user 4242") != std::string::npos);
  }
}

TEST_CASE("what a group shares is open to it, and what a user has is not") {
  const TemporaryFolder folder;
  const auto mode = [](const fs::path& path) {
    struct stat found {};
    ::stat(path.c_str(), &found);
    return found.st_mode & 0777;
  };
  DiskCache::open(folder / "own", 8 * kMiB)->object(object_of(1, 9000), 1);
  CHECK(mode(folder / "own") == 0700);
  CHECK(mode(folder / "own" / "state") == 0600);
  fs::create_directory(folder / "group");
  ::chmod((folder / "group").c_str(), 02770);
  const mode_t before = ::umask(077);
  DiskCache::open(folder / "group", 8 * kMiB)->object(object_of(1, 9000), 1);
  ::umask(before);
  CHECK(mode(folder / "group" / "objects") == 0770);
  for (const auto& entry : fs::directory_iterator(folder / "group" / "objects")) CHECK(mode(entry.path()) == 0660);
}

TEST_CASE("the folder never takes more than its limit") {
  const TemporaryFolder folder;
  const std::uint64_t limit = 4 * kMiB, size = 3 * kMiB;
  const auto cache = DiskCache::open(folder / "cache", limit);
  std::vector<std::shared_ptr<CachedObject>> objects;
  std::uint64_t most = 0;
  for (std::uint32_t o = 0; o < 6; ++o) {
    objects.push_back(cache->object(object_of(o, size), 64 << 10));
    const std::vector<std::shared_ptr<CachedObject>> all{objects.back()};
    const auto plan = cache->publish(all, {.pace = 1, .in_flight = 0, .longest = 1000});
    for (std::uint64_t block = 0; block < objects.back()->block_count(); ++block) plan->set(0, block, 5 + block);
    fill(*objects.back(), o, size);
    most = std::max(most, taken_by(folder / "cache"));
    // Those of the loader that lives took the place of those that nobody wants.
    CHECK(held_of(*objects.back(), o, size).right == objects.back()->block_count());
  }
  CHECK(most <= limit);
  CHECK(cache->used() <= limit);
  for (std::uint32_t o = 0; o < 6; ++o) CHECK(held_of(*objects[o], o, size).wrong == 0);
}

TEST_CASE("of two jobs' blocks those stay that some loader wants soon, and plans of the dead count for nothing") {
  const TemporaryFolder folder;
  const std::uint64_t size = 2 * kMiB, limit = 2 * kMiB + 600'000;
  const auto cache = DiskCache::open(folder / "cache", limit);
  const std::vector<std::shared_ptr<CachedObject>> mine{cache->object(object_of(0, size), 64 << 10)};
  const pid_t child = ::fork();
  if (child == 0) {
    const auto own = DiskCache::open(folder / "cache", 0);
    const std::vector<std::shared_ptr<CachedObject>> theirs{own->object(object_of(1, size), 64 << 10)};
    const auto plan = own->publish(theirs, {.pace = 2, .in_flight = 0, .longest = 1000});
    for (std::uint64_t block = 0; block < theirs[0]->block_count(); ++block) plan->set(0, block, 1 + block % 3);
    fill(*theirs[0], 1, size);
    ::kill(::getpid(), SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  REQUIRE(WIFSTOPPED(status));
  const auto theirs = cache->object(object_of(1, size), 64 << 10);
  const std::uint64_t kept = held_of(*theirs, 1, size).right;
  CHECK(kept == theirs->block_count());
  CHECK(cache->users().size() == 1);
  const auto plan = cache->publish(mine, {.pace = 1, .in_flight = 0, .longest = 1000});
  for (std::uint64_t block = 0; block < mine[0]->block_count(); ++block) plan->set(0, block, 500 + block);
  fill(*mine[0], 0, size);
  CHECK(cache->stats().bytes_evicted == 0);  // what is wanted later than all that is kept takes no place
  CHECK(cache->stats().bypassed > 0);
  CHECK(held_of(*theirs, 1, size).right == kept);  // they want theirs sooner
  CHECK(held_of(*mine[0], 0, size).right < mine[0]->block_count() / 2);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  fill(*mine[0], 0, size);
  CHECK(held_of(*mine[0], 0, size).right == mine[0]->block_count());
  CHECK(cache->users().size() == 1);
}

TEST_CASE("what leaves is told by the plans as they are then, and by the seconds until then where paces differ") {
  const TemporaryFolder folder;
  const std::uint64_t size = 2 * kMiB;
  const auto cache = DiskCache::open(folder / "cache", kMiB);
  const std::vector<std::shared_ptr<CachedObject>> all{cache->object(object_of(0, size), 256 << 10)};
  CachedObject& object = *all[0];
  const auto keeps = [&](std::uint64_t block) { return object.keep(block, block_of(object, 0, block, size)); };
  auto slow = cache->publish(all, {.pace = 1, .in_flight = 8, .longest = 1000});
  for (std::uint64_t block = 0; block < object.block_count(); ++block) slow->set(0, block, 1000 + block);
  std::uint64_t fit = 0;  // blocks that have room; of those behind them is told that they are wanted later
  while (keeps(fit)) ++fit;
  REQUIRE(fit > 15);
  // Those that would leave first are wanted at once, as only their loader knows.
  for (std::uint64_t block = fit - 4; block < fit; ++block) slow->set(0, block, 1);
  slow->set(0, fit, 500);
  CHECK(keeps(fit));
  for (std::uint64_t block = fit - 4; block < fit; ++block) CHECK(object.has(block));
  CHECK_FALSE(object.has(fit - 5));
  // What was wanted a moment ago may be about to be read.
  slow->now(9, 1);
  const auto second = cache->publish(all, {.pace = 1, .in_flight = 0, .longest = 1000});  // all is looked at anew
  CHECK_FALSE([&] {
    slow->set(0, 63, 100'000);
    return keeps(63);
  }());
  for (std::uint64_t block = fit - 4; block < fit; ++block) CHECK(object.has(block));
  slow->now(10, 1);  // and behind that it is not
  slow->set(0, 62, 999);
  const auto third = cache->publish(all, {.pace = 1, .in_flight = 0, .longest = 1000});
  CHECK(keeps(62));
  std::uint64_t left = 0;
  for (std::uint64_t block = fit - 4; block < fit; ++block) left += object.has(block) ? 1U : 0U;
  CHECK(left == 3);
  // 5,000 steps of a loader that takes a thousand a second are sooner than 1,000 of one that takes one.
  for (std::uint64_t block = 0; block < object.block_count(); ++block) slow->set(0, block, 1010 + block);
  slow->set(0, 61, PublishedPlan::kNever);
  const auto fast = cache->publish(all, {.pace = 2, .in_flight = 0, .longest = 1000});
  fast->now(0, 1000);
  fast->set(0, 61, 5000);
  CHECK(keeps(61));
  CHECK(object.has(61));
}

TEST_CASE("of blocks that are wanted at one time those leave that lie furthest behind, so that no holes are left") {
  const TemporaryFolder folder;
  const std::uint64_t size = kMiB;
  const auto cache = DiskCache::open(folder / "cache", kMiB + kMiB / 2);
  const std::vector<std::shared_ptr<CachedObject>> all{cache->object(object_of(0, size), 256 << 10),
                                                       cache->object(object_of(1, size), 256 << 10)};
  const auto plan = cache->publish(all, {.pace = 1, .in_flight = 0, .longest = 1000});
  for (std::uint64_t block = 0; block < all[0]->block_count(); ++block) {
    plan->set(0, block, 100);
    plan->set(1, block, 50);
  }
  fill(*all[0], 0, size);
  fill(*all[1], 1, size);
  CHECK(held_of(*all[1], 1, size).right == all[1]->block_count());
  std::uint64_t beginning = 0;
  while (all[0]->has(beginning)) ++beginning;
  CHECK(beginning > 0);
  CHECK(held_of(*all[0], 0, size).right == beginning);
}

TEST_CASE("a child of fork that goes away takes no plan with it, and one that stays keeps none alive") {
  const TemporaryFolder folder;
  const auto cache = DiskCache::open(folder / "cache", 8 * kMiB);
  const std::vector<std::shared_ptr<CachedObject>> mine{cache->object(object_of(0, kMiB), 1)};
  auto plan = cache->publish(mine, {.pace = 1, .in_flight = 0, .longest = 1000});
  check_in_processes(1, [&] {
    plan.reset();
    return true;
  });
  CHECK(cache->users().size() == 1);
  // A loader's process that ends and leaves a child behind.
  const pid_t loader = ::fork();
  if (loader == 0) {
    const auto theirs = cache->publish(mine, {.pace = 1, .in_flight = 0, .longest = 1000});
    if (::fork() == 0) {
      ::usleep(1'500'000);
      ::_exit(0);
    }
    ::_exit(cache->users().size() == 2 ? 0 : 1);
  }
  int status = 1;
  ::waitpid(loader, &status, 0);
  CHECK(status == 0);
  CHECK(cache->users().size() == 1);
}

TEST_CASE("a child of fork waits for nothing that its parent was about") {
#ifdef __SANITIZE_THREAD__
  return skip("a program with threads cannot fork under this sanitizer; use the preset dev");
#endif
  const TemporaryFolder folder;
  const auto cache = DiskCache::open(folder / "cache", 8 * kMiB);
  const int held = ::open((folder / "cache" / "objects").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  Thread waits("waits", [&](const std::stop_token&) { cache->object(object_of(0, kMiB), 1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is about to make a table
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const auto own = DiskCache::open(folder / "own", 8 * kMiB);
    const auto object = own->object(object_of(0, kMiB), 1);
    fill(*object, 0, kMiB);
    ::_exit(held_of(*object, 0, kMiB).right == object->block_count() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  ::close(held);
}

TEST_CASE("a dataset of very many shards takes few mappings, and its blocks are kept and evicted all the same") {
  constexpr std::uint32_t kObjects = 12;
  constexpr int kMapped = 3;
  most_mapped_tables = kMapped;
  const TemporaryFolder folder;
  const std::uint64_t size = 300'000, limit = 2'500'000;
  const auto tables = [] {
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) found += line.find(".table") != std::string::npos ? 1 : 0;
    return found;
  };
  {
    const auto cache = DiskCache::open(folder / "cache", limit);
    std::vector<std::shared_ptr<CachedObject>> objects;
    for (std::uint32_t o = 0; o < kObjects; ++o) objects.push_back(cache->object(object_of(o, size), 1));
    CHECK(tables() <= kMapped);
    const auto plan = cache->publish(objects, {.pace = 1, .in_flight = 0, .longest = 1000});
    for (std::uint32_t o = 0; o < kObjects; ++o)
      for (std::uint64_t block = 0; block < objects[o]->block_count(); ++block) plan->set(o, block, 100 - o);
    for (std::uint32_t o = 0; o < kObjects; ++o) fill(*objects[o], o, size);
    CHECK(tables() <= kMapped);
    CHECK(taken_by(folder / "cache") <= limit);
    for (std::uint32_t o = 0; o < kObjects; ++o) CHECK(held_of(*objects[o], o, size).wrong == 0);
    // What is wanted first came last, and took the place of the rest.
    CHECK(held_of(*objects.back(), kObjects - 1, size).right == objects.back()->block_count());
    CHECK(held_of(*objects[0], 0, size).right == 0);
    check_in_processes(2, [&] {
      const auto own = DiskCache::open(folder / "cache", 0);
      const auto object = own->object(object_of(kObjects - 1, size), 1);
      return held_of(*object, kObjects - 1, size).right == object->block_count();
    });
    fs::remove_all(folder / "cache");
    for (std::uint32_t o = 0; o < kObjects; ++o) {
      fill(*objects[o], o, size);
      CHECK(held_of(*objects[o], o, size).wrong == 0);
    }
  }
  CHECK(tables() == 0);
  most_mapped_tables = 0;
}

TEST_CASE("a limit that is lowered is reached little by little, so that nobody waits for long") {
  const TemporaryFolder folder;
  const std::uint64_t size = 60 * kMiB;
  const auto cache = DiskCache::open(folder / "cache", 64 * kMiB);
  const std::vector<std::shared_ptr<CachedObject>> all{cache->object(object_of(0, size), 256 << 10),
                                                       cache->object(object_of(1, kMiB), 256 << 10)};
  fill(*all[0], 0, size);
  const auto plan = cache->publish(all, {.pace = 1, .in_flight = 0, .longest = 1000});
  for (std::uint64_t block = 0; block < all[1]->block_count(); ++block) plan->set(1, block, 1);
  DiskCache::open(folder / "cache", 4 * kMiB);
  std::uint64_t before = 0;
  for (std::uint64_t block = 0; block < 8; ++block) {
    all[1]->keep(block, block_of(*all[1], 1, block, kMiB));
    const std::uint64_t now = cache->stats().bytes_evicted;
    CHECK(now - before <= 17 * kMiB);
    before = now;
  }
  CHECK(cache->used() <= 4 * kMiB);
  CHECK(all[1]->has(7));
}

TEST_CASE("bits that flip, anywhere, are never a wrong byte") {
  const TemporaryFolder folder;
  const std::uint64_t size = 600'000;
  std::mt19937_64 random(11);
  std::uint64_t right = 0, absent = 0;
  for (int round = 0; round < 60; ++round) {
    const fs::path place = folder / ("cache" + std::to_string(round));
    {
      const auto cache = DiskCache::open(place, 8 * kMiB);
      fill(*cache->object(object_of(0, size), 1), 0, size);
    }
    const auto cache = round % 2 == 0 ? DiskCache::open(place, 0) : nullptr;
    const auto before = cache != nullptr ? cache->object(object_of(0, size), 1) : nullptr;
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      if (!entry.is_regular_file() || entry.file_size() == 0) continue;
      const int fd = ::open(entry.path().c_str(), O_RDWR);
      for (int flips = 0; flips < 40; ++flips) {
        const auto at = static_cast<off_t>(random() % entry.file_size());
        unsigned char byte = 0;
        REQUIRE(::pread(fd, &byte, 1, at) == 1);
        byte = static_cast<unsigned char>(byte ^ 1U << random() % 8);
        REQUIRE(::pwrite(fd, &byte, 1, at) == 1);
      }
      if (random() % 4 == 0) CHECK(::ftruncate(fd, static_cast<off_t>(random() % entry.file_size())) == 0);
      ::close(fd);
    }
    const auto look = [&](CachedObject& object) {
      const Held held = held_of(object, 0, size);
      CHECK(held.wrong == 0);
      right += held.right;
      absent += held.absent;
      fill(object, 0, size);
      CHECK(held_of(object, 0, size).wrong == 0);
    };
    if (before != nullptr) look(*before);
    try {
      const auto after = DiskCache::open(place, 8 * kMiB);
      if (const auto object = after->object(object_of(0, size), 1)) look(*object);
      after->objects();
      after->clear();
    } catch (const Error&) {  // another version, or no page of counts: said
    }
  }
  CHECK(right > 0);
  CHECK(absent > 0);
}

TEST_CASE("a disk that is full, and files that may not be long, keep nothing and break nothing") {
  const TemporaryFolder folder;
  const std::uint64_t size = 6 * kMiB;
  {
    const auto cache = DiskCache::open(folder / "cache", 64 * kMiB);
    const auto object = cache->object(object_of(0, size), 1);
    check_in_processes(1, [&] {
      const rlimit longest{kMiB, kMiB};
      ::setrlimit(RLIMIT_FSIZE, &longest);
      fill(*object, 0, size);
      const Held held = held_of(*object, 0, size);
      return held.wrong == 0 && held.right > 0 && held.absent > 0 && cache->object(object_of(1, size), 1) == nullptr &&
             !cache->stopped().empty();
    });
  }
  fs::create_directory(folder / "small");
  if (::geteuid() != 0 || ::mount("none", (folder / "small").c_str(), "tmpfs", 0, "size=4m") != 0) {
    skip("no tmpfs can be mounted here; run as root, and allow mounting");
    return;
  }
  {
    const auto cache = DiskCache::open(folder / "small" / "cache", 64 * kMiB);
    const auto object = cache->object(object_of(0, size), 1);
    REQUIRE(object != nullptr);
    fill(*object, 0, size);
    Held held = held_of(*object, 0, size);
    CHECK(held.wrong == 0);
    CHECK(held.right > 500);
    CHECK(held.absent > 500);
    CHECK(cache->used() <= 4 * kMiB + kMiB / 2);  // as it is counted, which is more than is taken
    CHECK(cache->stopped().empty());              // the disk was never full: some of it stays free
    CHECK(fs::space(folder / "small").available >= 4 * kMiB / 60);
    std::ofstream(folder / "small" / "other", std::ios::binary) << std::string(8 * kMiB, 'x');  // as far as it fits
    fill(*object, 0, size);
    held = held_of(*object, 0, size);
    CHECK(held.wrong == 0);
    // A cache that is made where there is no room at all.
    std::string said;
    try {
      DiskCache::open(folder / "small" / "late", 64 * kMiB)->object(object_of(0, size), 1);
    } catch (const Error& error) {
      said = error.what();
    }
    CHECK(said != "");
  }
  ::umount((folder / "small").c_str());
}

TEST_CASE("a folder that cannot be written to is said") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "disk");
  if (::geteuid() != 0 || ::mount("none", (folder / "disk").c_str(), "tmpfs", 0, "size=16m") != 0) {
    skip("no tmpfs can be mounted here; run as root, and allow mounting");
    return;
  }
  {
    const auto cache = DiskCache::open(folder / "disk" / "cache", 8 * kMiB);
    fill(*cache->object(object_of(0, kMiB), 1), 0, kMiB);
  }
  REQUIRE(::mount("none", (folder / "disk").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=16m") == 0);
  CHECK(cause_of(folder / "disk" / "cache").find("Read-only") != std::string::npos);
  CHECK(cause_of(folder / "disk" / "new") != "");
  ::umount((folder / "disk").c_str());
}

TEST_CASE("two hundred kills while processes fill and evict leave no wrong byte, and the limit holds") {
  const TemporaryFolder folder;
  const std::uint64_t size = 2 * kMiB, limit = 3 * kMiB;
  constexpr int kProcesses = 4, kKills = 200;
  std::mt19937_64 random(5);
  const auto work = [&](unsigned seed) {
    std::mt19937_64 own(seed);
    const auto cache = DiskCache::open(folder / "cache", limit);
    std::vector<std::shared_ptr<CachedObject>> objects;
    for (std::uint32_t o = 0; o < 3; ++o) objects.push_back(cache->object(object_of(o, size), 64 << 10));
    for (const auto& object : objects)
      if (object == nullptr) return 3;
    const auto plan = cache->publish(objects, {.pace = 1, .in_flight = 0, .longest = 1 << 20});
    for (std::uint64_t step = 1;; ++step) {
      const auto o = static_cast<std::uint32_t>(own() % 3);
      const std::uint64_t block = own() % objects[o]->block_count(), begin = block * objects[o]->block_bytes();
      plan->now(step, 1);
      plan->set(o, block, step + own() % 5000);
      std::vector<std::byte> bytes(objects[o]->block_bytes());
      if (objects[o]->has(block) && objects[o]->read(begin, bytes)) {
        if (!StoredRows::right(o, begin, bytes)) return 4;
        objects[o]->planned(block);
      } else {
        objects[o]->keep(block, block_of(*objects[o], o, block, size));
      }
    }
  };
  std::vector<pid_t> running(kProcesses, -1);
  unsigned seed = 0;
  int ended = 0;
  for (int kills = 0; kills < kKills; ++kills) {
    for (pid_t& pid : running) {
      if (pid >= 0) continue;
      const unsigned next = ++seed;
      pid = ::fork();
      if (pid == 0) {
        int code = 5;
        try {
          code = work(next);
        } catch (...) {
        }
        ::_exit(code);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 25'000));
    pid_t& victim = running[random() % running.size()];
    int status = 0;
    ::kill(victim, SIGKILL);
    ::waitpid(victim, &status, 0);
    if (!WIFSIGNALED(status)) ++ended;
    victim = -1;
    if (kills % 40 == 0) CHECK(taken_by(folder / "cache") <= limit);
  }
  for (const pid_t pid : running) {
    if (pid < 0) continue;
    int status = 0;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status)) ++ended;
  }
  CHECK(ended == 0);  // none found a wrong byte, and none failed
  CHECK(taken_by(folder / "cache") <= limit);
  const auto cache = DiskCache::open(folder / "cache", 0);
  std::uint64_t right = 0, bytes = 0;
  for (std::uint32_t o = 0; o < 3; ++o) {
    const Held held = held_of(*cache->object(object_of(o, size), 1), o, size);
    CHECK(held.wrong == 0);
    right += held.right;
  }
  for (const CachedObjectInfo& object : cache->objects()) bytes += object.kept;
  CHECK(right > 100);
  // What was reserved by those who were killed is found again.
  CHECK(cache->used() < bytes + bytes / 50 + kMiB / 2);
}

}  // namespace penstock::test::disk_cache_test
