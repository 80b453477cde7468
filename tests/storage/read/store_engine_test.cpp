// Tests the engine of objects in stores: bytes, joined ranges, failures, what the disk cache has, and ending.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <support/answers.hpp>
#include <support/folder_store.hpp>
#include <support/temporary_folder.hpp>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <penstock/dataset.hpp>
#include <penstock/storage.hpp>
#include <storage/read/disk_cache_use.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/store_engine.hpp>

namespace penstock::test::store_engine_test {
namespace {

constexpr std::size_t kGuard = 16;
constexpr std::byte kUntouched{0xa5};

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Some objects, or files, of random bytes, and a dataset of them.
struct Objects {
  TemporaryFolder folder;
  FolderStore store{folder / "store"};
  std::vector<std::vector<std::byte>> contents;
  std::vector<Dataset::Shard> shards;

  void add(std::size_t size, bool in_store = true) {
    const std::string name = "shard-" + std::to_string(contents.size());
    contents.push_back(random_bytes(size, contents.size()));
    const std::string address = "s3://bucket/" + name;
    const auto path = in_store ? store.file_of(address) : folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(contents.back().data()), static_cast<std::streamsize>(size));
    IndexBuilder builder;
    const auto file = builder.add_file({.path = name, .size = size, .stamp = 0});
    builder.add_sample("0");
    builder.set(builder.field(FieldSchema{.name = "x", .codec = "raw"}), Extent{file, 0, 1});
    Dataset::Shard shard{
        .index = std::move(builder).finish(), .root = in_store ? "s3://bucket" : path.parent_path(), .name = name};
    if (in_store) shard.objects = {std::make_shared<const StoredObject>(StoredObject{address, *store.find(address)})};
    shards.push_back(std::move(shard));
  }
  Dataset dataset() const { return Dataset("s3://bucket", "test", shards, {}, false); }
};

struct Asked {
  std::vector<std::vector<std::byte>> memory;
  std::vector<ReadRequest> requests;

  explicit Asked(const std::vector<Extent>& extents) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      memory.emplace_back(extents[i].length + 2 * kGuard, kUntouched);
      requests.push_back({.extent = extents[i], .destination = memory.back().data() + kGuard, .tag = i});
    }
  }
  void require_right(const Objects& objects, Answers& answers) const {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Extent& extent = requests[i].extent;
      CAPTURE(extent.file);
      CAPTURE(extent.offset);
      CAPTURE(extent.length);
      REQUIRE(answers.times(i) == 1);
      REQUIRE(answers.failure(i) == "");
      REQUIRE(std::equal(requests[i].destination, requests[i].destination + extent.length,
                         objects.contents[extent.file].begin() + static_cast<std::ptrdiff_t>(extent.offset)));
      for (std::size_t g = 0; g < kGuard; ++g) {
        REQUIRE(memory[i][g] == kUntouched);
        REQUIRE(memory[i][memory[i].size() - 1 - g] == kUntouched);
      }
    }
  }
};

std::vector<Extent> random_extents(const Objects& objects, std::size_t count, std::uint64_t longest,
                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Extent> extents;
  while (extents.size() < count) {
    const auto file = static_cast<std::uint32_t>(random() % objects.contents.size());
    const std::uint64_t size = objects.contents[file].size();
    const std::uint64_t length = random() % (std::min(longest, size) + 1);
    extents.push_back({file, random() % (size - length + 1), length});
  }
  return extents;
}

/// Keeps blocks in memory, and lies and forgets as it is told to.
class MemoryCache final : public DiskCacheUse {
 public:
  explicit MemoryCache(std::uint64_t block) : block_(block) {}
  std::uint64_t block_bytes(std::uint32_t) const noexcept override { return block_; }
  bool has(std::uint32_t file, std::uint64_t block) const noexcept override {
    const std::scoped_lock lock(mutex_);
    return blocks_.contains({file, block});
  }
  bool read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> bytes) noexcept override {
    if (lies) return false;
    const std::scoped_lock lock(mutex_);
    ++reads;
    if (forgets_every != 0 && reads % forgets_every == 0) {
      blocks_.clear();
      std::ranges::fill(bytes, std::byte{0xee});
      return false;
    }
    for (std::uint64_t done = 0; done < bytes.size();) {
      const std::uint64_t at = offset + done, block = at / block_, inside = at % block_;
      const auto found = blocks_.find({file, block});
      if (found == blocks_.end()) return false;
      const std::uint64_t length = std::min<std::uint64_t>(found->second.size() - inside, bytes.size() - done);
      std::memcpy(bytes.data() + done, found->second.data() + inside, length);
      done += length;
    }
    return true;
  }
  void keep(std::uint32_t file, std::uint64_t block, std::span<const std::byte> bytes) noexcept override {
    const std::scoped_lock lock(mutex_);
    ++kept[{file, block}];
    blocks_[{file, block}] = {bytes.begin(), bytes.end()};
  }
  void used(std::uint32_t file, std::uint64_t block) noexcept override {
    const std::scoped_lock lock(mutex_);
    ++uses[{file, block}];
  }
  bool has_what_is_in(const Objects& objects) {
    const std::scoped_lock lock(mutex_);
    return std::ranges::all_of(blocks_, [&](const auto& kept_block) {
      const auto& [number, bytes] = kept_block;
      const auto& content = objects.contents[number.first];
      const std::uint64_t begin = number.second * block_;
      return bytes.size() == std::min<std::uint64_t>(block_, content.size() - begin) &&
             std::equal(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(begin));
    });
  }

  using Number = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Number, int> kept, uses;
  unsigned reads = 0, forgets_every = 0;
  std::atomic<bool> lies{false};  // about what it has

 private:
  const std::uint64_t block_;
  mutable std::mutex mutex_;
  std::map<Number, std::vector<std::byte>> blocks_;
};

void submit_in_parts(ReadEngine& engine, const std::vector<ReadRequest>& requests, std::size_t part = 50) {
  for (std::size_t at = 0; at < requests.size(); at += part)
    engine.submit(std::span(requests).subspan(at, std::min(part, requests.size() - at)));
}

}  // namespace

TEST_CASE("objects and files of one dataset are read side by side, each byte once and nothing beside it") {
  Objects objects;
  objects.add(1 << 20);
  objects.add(300'001, false);
  objects.add(70'000);
  const Dataset dataset = objects.dataset();
  CHECK(dataset.in_store());
  CHECK(dataset.stored_object(0)->address == "s3://bucket/shard-0");
  CHECK(dataset.stored_object(1) == nullptr);
  for (const EngineKind kind : {EngineKind::automatic, EngineKind::in_worker}) {
    Answers answers;
    Asked own(random_extents(objects, 2'000, 9'000, 1));
    auto chosen = choose_engine(dataset, {.kind = kind}, answers.collect());
    CHECK(chosen.engine->kind() == EngineKind::store);
    CHECK(chosen.engine->synchronous() == (kind == EngineKind::in_worker));
    CHECK(chosen.reason == "objects in a store, and files");
    submit_in_parts(*chosen.engine, own.requests);
    if (kind == EngineKind::in_worker) CHECK(answers.count() == own.requests.size());
    REQUIRE(answers.wait_for(own.requests.size()));
    own.require_right(objects, answers);
    CHECK(chosen.engine->stop(kStopGrace));
    CHECK(answers.count() == own.requests.size());
    CHECK(chosen.engine->stats().requests == own.requests.size());
  }
}

TEST_CASE("neighbours share a request as long as the gap is small, and long values are asked for in pieces") {
  Objects objects;
  objects.add(20 << 20);
  const Dataset dataset = objects.dataset();
  const auto ranges_for = [&](const std::vector<Extent>& extents) {
    Answers answers;
    Asked asked(extents);
    const std::uint64_t before = objects.store.ranges;
    auto chosen = choose_engine(dataset, {.merge_gap_bytes = 1'000}, answers.collect());
    chosen.engine->submit(asked.requests);
    REQUIRE(answers.wait_for(extents.size()));
    asked.require_right(objects, answers);
    CHECK(chosen.engine->stats().reads == objects.store.ranges - before);
    return objects.store.ranges - before;
  };
  CHECK(ranges_for({{0, 0, 100}, {0, 100, 50}, {0, 1'150, 50}}) == 1);
  CHECK(ranges_for({{0, 0, 100}, {0, 1'101, 50}}) == 2);
  CHECK(ranges_for({{0, 0, 5 << 20}, {0, 5 << 20, 5 << 20}}) == 2);  // together more than 8 MiB
  CHECK(ranges_for({{0, 5, 19 << 20}}) == 3);
}

TEST_CASE("what cannot be read is told of its extent alone, or of those that were asked for with it") {
  Objects objects;
  objects.add(10'000);
  objects.add(10'000);
  const Dataset dataset = objects.dataset();
  Answers answers;
  auto chosen = choose_engine(dataset, {}, answers.collect());
  Asked asked({{0, 0, 100}, {0, 9'990, 11}, {1, 0, 100}, {0, 5, 0}});
  std::filesystem::remove(objects.store.file_of("s3://bucket/shard-1"));
  chosen.engine->submit(asked.requests);
  REQUIRE(answers.wait_for(4));
  CHECK(answers.failure(0) == "");
  CHECK(answers.failure(1).find("ends inside") != std::string::npos);
  CHECK(answers.failure(2).find("is gone") != std::string::npos);
  CHECK(answers.failure(2).find("shard-1") != std::string::npos);
  CHECK(answers.failure(3) == "");
}

TEST_CASE("blocks are taken from the disk cache, which gets whole ones, and nobody notices what it forgets") {
  for (const unsigned forgets_every : {0U, 7U, 2U}) {
    CAPTURE(forgets_every);
    Objects objects;
    objects.add(1'000'001);
    objects.add(4'096);
    const Dataset dataset = objects.dataset();
    auto cache = std::make_shared<MemoryCache>(4'096);
    cache->forgets_every = forgets_every;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      Answers answers;
      Asked asked(random_extents(objects, 1'500, 20'000, epoch % 2));
      const std::uint64_t before = objects.store.ranges;
      auto chosen = choose_engine(dataset, {.disk_cache = cache}, answers.collect());
      submit_in_parts(*chosen.engine, asked.requests);
      REQUIRE(answers.wait_for(asked.requests.size()));
      asked.require_right(objects, answers);
      CHECK(chosen.engine->stop(kStopGrace));
      CHECK(cache->has_what_is_in(objects));
      if (forgets_every == 0 && epoch == 2) CHECK(objects.store.ranges == before);
    }
    if (forgets_every == 0) {
      CHECK(!cache->uses.empty());
    }
  }
}

TEST_CASE("whole blocks around small values do not take more memory than they may, and long values come all the same") {
  constexpr std::uint64_t kBlock = 256 << 10, kWindow = 1 << 20;
  Objects objects;
  objects.add(40 << 20);
  const Dataset dataset = objects.dataset();
  std::vector<Extent> bytes;
  for (std::uint64_t at = 100; at < objects.contents[0].size(); at += 3 * kBlock) bytes.push_back({0, at, 1});
  {
    objects.store.delay = std::chrono::minutes(10);
    Answers answers;
    Asked asked(bytes);
    auto chosen = choose_engine(dataset, {.disk_cache = std::make_shared<MemoryCache>(kBlock), .block_window = kWindow},
                                answers.collect());
    chosen.engine->submit(asked.requests);
    CHECK(chosen.engine->stats().read_bytes == kWindow);
    chosen.engine->cancel();  // those that wait for room, too
    CHECK(answers.count() == bytes.size());
    objects.store.delay = {};
  }
  bytes.push_back({0, 3'000'000, 20 << 20});
  for (const bool fails : {false, true}) {
    Answers answers;
    Asked asked(bytes);
    auto cache = std::make_shared<MemoryCache>(kBlock);
    auto chosen = choose_engine(dataset, {.disk_cache = cache, .block_window = kWindow}, answers.collect());
    std::atomic<int> left{fails ? 5 : 0};
    objects.store.before = [&](const std::string&, const std::string&) {
      if (left-- > 0) throw Error::io(EIO, "the store is ill");
    };
    submit_in_parts(*chosen.engine, asked.requests, 7);
    REQUIRE(answers.wait_for(bytes.size()));
    if (!fails) asked.require_right(objects, answers);
    CHECK(chosen.engine->stop(kStopGrace));
    CHECK(cache->has_what_is_in(objects));
  }
}

TEST_CASE("of blocks at the ends that the cache has none is fetched, and all of them where it lied") {
  constexpr std::uint64_t kBlock = 4096;
  Objects objects;
  objects.add(100'000);
  const Dataset dataset = objects.dataset();
  auto cache = std::make_shared<MemoryCache>(kBlock);
  const auto bytes_for = [&](const Extent& extent) {
    Answers answers;
    Asked asked({extent});
    auto chosen = choose_engine(dataset, {.disk_cache = cache}, answers.collect());
    const std::uint64_t before = objects.store.bytes;
    chosen.engine->submit(asked.requests);
    REQUIRE(answers.wait_for(1));
    asked.require_right(objects, answers);
    CHECK(chosen.engine->stop(kStopGrace));  // what came is kept by now
    return objects.store.bytes - before;
  };
  CHECK(bytes_for({0, 2 * kBlock + 5, 10}) == kBlock);
  CHECK(bytes_for({0, 6 * kBlock + 5, 10}) == kBlock);
  CHECK(bytes_for({0, 2 * kBlock + 7, 4 * kBlock}) == 3 * kBlock);
  CHECK(bytes_for({0, 2 * kBlock, 5 * kBlock}) == 0);
  CHECK(bytes_for({0, 5 * kBlock + 1, 2 * kBlock}) == kBlock);
  cache->lies = true;
  CHECK(bytes_for({0, 2 * kBlock, 5 * kBlock}) == 5 * kBlock);
}

TEST_CASE("blocks that are on their way are not asked for again, so a store that dies afterwards is not missed") {
  constexpr std::uint64_t kBlock = 4096;
  Objects objects;
  objects.add(100'000);
  const Dataset dataset = objects.dataset();
  for (const bool keeps : {true, false}) {
    CAPTURE(keeps);
    auto cache = std::make_shared<MemoryCache>(kBlock);
    std::promise<void> answer;
    std::atomic<int> ranges{0};
    objects.store.before = [&, gate = answer.get_future().share()](const std::string&, const std::string&) {
      gate.wait();
      if (++ranges > 2 && keeps) throw Error::io(ECONNREFUSED, "the store is dead");
    };
    Answers answers;
    // The last three extents need only blocks of the first two.
    Asked asked({{0, 10, 4 * kBlock},
                 {0, 20 * kBlock, kBlock},
                 {0, kBlock, kBlock},
                 {0, 20 * kBlock + 100, 7},
                 {0, 3 * kBlock, kBlock + 5}});
    auto chosen = choose_engine(dataset, {.merge_gap_bytes = 0, .disk_cache = cache}, answers.collect());
    for (const ReadRequest& request : asked.requests) chosen.engine->submit({&request, 1});
    cache->lies = !keeps;  // then all have to be asked for in the end
    answer.set_value();
    REQUIRE(answers.wait_for(asked.requests.size()));
    asked.require_right(objects, answers);
    CHECK((ranges == 2) == keeps);
    CHECK(chosen.engine->stop(kStopGrace));
    objects.store.before = {};
  }
}

TEST_CASE("who waits for a block that cannot be fetched is told why") {
  Objects objects;
  objects.add(100'000);
  const Dataset dataset = objects.dataset();
  std::promise<void> answer;
  std::atomic<int> ranges{0};
  objects.store.before = [&, gate = answer.get_future().share()](const std::string&, const std::string&) {
    gate.wait();
    ++ranges;
    throw Error::io(ECONNREFUSED, "the store is dead");
  };
  Answers answers;
  Asked asked({{0, 10, 100}, {0, 20, 100}});
  auto chosen = choose_engine(dataset, {.disk_cache = std::make_shared<MemoryCache>(4096)}, answers.collect());
  for (const ReadRequest& request : asked.requests) chosen.engine->submit({&request, 1});
  answer.set_value();
  REQUIRE(answers.wait_for(2));
  for (const std::uint64_t tag : {0U, 1U}) CHECK(answers.failure(tag).find("the store is dead") != std::string::npos);
  CHECK(ranges == 1);
  CHECK(chosen.engine->stop(kStopGrace));
}

TEST_CASE("an engine that ends waits neither for the store nor for those who wait for it") {
  Objects objects;
  objects.add(100'000);
  const Dataset dataset = objects.dataset();
  objects.store.delay = std::chrono::minutes(10);
  for (const bool cached : {false, true}) {
    const EngineOptions options{.kind = EngineKind::automatic,
                                .disk_cache = cached ? std::make_shared<MemoryCache>(512) : nullptr};
    Answers answers;
    Asked asked(random_extents(objects, 100, 5'000, 3));
    auto chosen = choose_engine(dataset, options, answers.collect());
    chosen.engine->submit(asked.requests);
    const std::uint64_t before = answers.count();
    CHECK(chosen.engine->stop(kStopGrace));
    const std::uint64_t after = answers.count();
    CHECK(after == before);
    chosen.engine.reset();
    CHECK(answers.count() == after);

    Answers waited;
    auto waiting =
        choose_engine(dataset, {.kind = EngineKind::in_worker, .disk_cache = options.disk_cache}, waited.collect());
    Thread canceller("cancel", [&](const std::stop_token&) {
      while (objects.store.requests == 0) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      waiting.engine->cancel();
    });
    Asked own({{0, 0, 100}, {0, 50'000, 10}});
    waiting.engine->submit(own.requests);
    CHECK(waited.failure(0).find("the loader is closing") != std::string::npos);
    CHECK(waited.failure(1).find("the loader is closing") != std::string::npos);
    waiting.engine->submit(std::span(own.requests).first(1));  // from then on at once
    CHECK(waited.times(0) == 2);
  }
}

}  // namespace penstock::test::store_engine_test
