// Tests what a disk cache does where memory is refused, and where a disk takes no room back. Both replace what all of
// a program uses, so this is one of its own.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <support/kept_blocks.hpp>
#include <support/refused_memory.hpp>
#include <support/stored_rows.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/disk_cache.hpp>
#include <storage/disk_cache/published_plan.hpp>

using namespace penstock;
using namespace penstock::test;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::int64_t kNever = -1;
std::atomic<std::int64_t> allocations_left{kNever};  // before one fails; negative: none does
std::atomic<int> no_holes{0};                        // what making one is answered with

}  // namespace

bool penstock::test::refuses_allocation() noexcept {
  return allocations_left.load(std::memory_order_relaxed) >= 0 &&
         allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0;
}

extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  if ((mode & FALLOC_FL_PUNCH_HOLE) != 0 && no_holes != 0) {
    errno = no_holes;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
}

namespace {

void keep(CachedObject& object, std::uint32_t file, std::uint64_t block, std::uint64_t size, bool evicts = true) {
  object.keep(block, block_of(object, file, block, size), evicts);
}

}  // namespace

TEST_CASE("a disk that takes no room back is refused, and one that ceases to is not filled beyond the limit") {
  const TemporaryFolder folder;
  no_holes = EOPNOTSUPP;
  CHECK_THROWS_WITH_AS(DiskCache::open(folder / "none", 4 * kMiB), doctest::Contains("cannot free a part"), Error);
  no_holes = 0;
  const std::uint64_t limit = 3 * kMiB, size = 2 * kMiB;
  const auto cache = DiskCache::open(folder / "cache", limit);
  for (std::uint32_t o = 0; o < 4; ++o) {
    const auto object = cache->object(object_of(o, size), 128 << 10);
    REQUIRE(object != nullptr);
    const std::vector<std::shared_ptr<CachedObject>> all{object};
    const auto plan = cache->publish(all, {.pace = 1, .in_flight = 0, .longest = 1000});
    for (std::uint64_t block = 0; block < object->block_count(); ++block) plan->set(0, block, 1 + block);
    no_holes = o == 0 ? 0 : EIO;
    for (std::uint64_t block = 0; block < object->block_count(); ++block) keep(*object, o, block, size);
    no_holes = 0;
    CHECK(taken_by(folder / "cache") <= limit);
  }
}

TEST_CASE("memory that is refused while blocks are kept and plans come and go is a block that is not kept") {
  ::mallopt(M_PERTURB, 0xA5);  // what is freed does not look as it was
  const std::uint64_t size = kMiB, limit = kMiB + 400'000;
  for (std::int64_t refused = 0; refused < 400; ++refused) {
    const TemporaryFolder folder;
    const auto cache = DiskCache::open(folder / "cache", limit);
    std::vector<std::shared_ptr<CachedObject>> objects;
    for (std::uint32_t o = 0; o < 4; ++o) objects.push_back(cache->object(object_of(o, size), 256 << 10));
    const auto publish = [&](std::uint64_t pace) {
      auto plan = cache->publish(objects, {.pace = pace, .in_flight = 0, .longest = 1000});
      for (std::uint64_t block = 0; block < objects[0]->block_count(); ++block) plan->set(0, block, 1 + block);
      return plan;
    };
    auto first = publish(1);
    for (std::uint32_t o : {1U, 2U})  // until there is no room
      for (std::uint64_t block = 0; block < objects[o]->block_count(); ++block) keep(*objects[o], o, block, size);
    keep(*objects[0], 0, 0, size);
    // A fifth object and a second plan, of which nothing was known.
    objects.push_back(cache->object(object_of(4, size), 256 << 10));
    REQUIRE(objects.back() != nullptr);
    const auto second = publish(2), third = publish(2);
    second->set(4, 1, 1);
    first.reset();
    for (std::uint64_t block = 0; block < objects[3]->block_count(); ++block)  // what room they left
      keep(*objects[3], 3, block, size, false);
    std::vector<std::byte> bytes(objects[0]->block_bytes());
    StoredRows::fill(0, bytes.size(), bytes);
    allocations_left = refused;
    objects[0]->keep(1, bytes);
    const bool was_refused = allocations_left < 0;
    allocations_left = kNever;
    keep(*objects[4], 4, 1, size);
    CHECK(objects[4]->has(1));
    for (std::uint64_t block = 2; block < 20; ++block) {
      keep(*objects[0], 0, block, size);
      CHECK(objects[0]->has(block));
    }
    if (!was_refused) {
      CHECK(refused > 5);
      return;
    }
  }
  FAIL("memory is refused again and again");
}
