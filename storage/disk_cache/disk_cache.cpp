#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <base/caught.hpp>
#include <base/error_number.hpp>
#include <base/sigbus_guard.hpp>
#include <formats/io/folder_entries.hpp>
#include <storage/disk_cache/cache_folder.hpp>
#include <storage/disk_cache/cache_place.hpp>
#include <storage/disk_cache/disk_cache.hpp>
#include <storage/disk_cache/eviction.hpp>
#include <storage/disk_cache/object_table.hpp>
#include <storage/disk_cache/published_plan.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kSmallestCached = 4096, kLargestCached = 256 << 10;
constexpr std::uint64_t kFolderBytes = 256 << 10;  // for the folder's own files and names

// Runs while no other process uses the folder. Removes the remains of killed processes, and objects without cached
// blocks.
std::uint64_t recount(CacheFolder& folder) {
  std::uint64_t bytes = kFolderBytes;
  std::set<std::string> known;
  for (const CachedObjectId& id : cached_ids(folder)) {
    std::shared_ptr<ObjectTable> table;
    static_cast<void>(caught([&] { table = ObjectTable::find(folder, id); }));
    const std::uint64_t kept = table != nullptr ? table->tidy() : 0;
    if (kept == 0) continue;
    bytes += kept + table->charge();
    known.insert(id.text());
  }
  const auto sweep_out = [&](const Descriptor& at, const char* which, const auto& stays) {
    std::vector<std::string> names;
    visit_names(folder.path() / which, [&](const char* name) {
      if (!stays(std::string_view(name))) names.emplace_back(name);
      return true;
    });
    for (const std::string& name : names) ::unlinkat(at.get(), name.c_str(), 0);
  };
  sweep_out(folder.objects(), "objects", [&](std::string_view name) {
    const std::size_t dot = name.find('.');
    return dot != std::string_view::npos && known.contains(std::string(name.substr(0, dot))) &&
           (name.substr(dot) == kTableEnding || name.substr(dot) == kDataEnding);
  });
  sweep_out(folder.plans(), "plans", [](std::string_view) { return false; });
  return bytes;
}

}  // namespace

namespace disk_cache {

// Counters that several threads update.
struct Counted {
  std::atomic<std::uint64_t> hits{0}, misses{0}, bad{0}, bytes_read{0}, bytes_written{0}, bypassed{0};
  std::atomic<std::int64_t> reading{0}, writing{0};
  static void add(auto& to, auto what) { to.fetch_add(what, std::memory_order_relaxed); }

  DiskCacheStats stats() const {
    return {.hits = hits,
            .misses = misses,
            .bad = bad,
            .bytes_read = bytes_read,
            .bytes_written = bytes_written,
            .bypassed = bypassed,
            .reading = std::chrono::nanoseconds(reading),
            .writing = std::chrono::nanoseconds(writing)};
  }
};

// Adds the duration of its scope.
class Timed {
 public:
  explicit Timed(std::atomic<std::int64_t>& to) : to_(to) {}
  Timed(Timed&&) = delete;
  ~Timed() { to_.fetch_add((std::chrono::steady_clock::now() - began_).count(), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t>& to_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace disk_cache

using disk_cache::Counted;
using disk_cache::Timed;

DiskCacheStats& DiskCacheStats::operator+=(const DiskCacheStats& other) {
  hits += other.hits;
  misses += other.misses;
  bad += other.bad;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  bytes_evicted += other.bytes_evicted;
  bypassed += other.bypassed;
  reading += other.reading;
  writing += other.writing;
  evicting += other.evicting;
  used = std::max(used, other.used);
  limit = std::max(limit, other.limit);
  return *this;
}

struct DiskCache::State {
  State(const std::filesystem::path& path, std::uint64_t limit)
      : folder(path, limit, [](const CacheFolder& at) { return recount(const_cast<CacheFolder&>(at)); }),
        eviction(folder) {
    folder.evict_by([this](std::uint64_t bytes) { return eviction.make_room(bytes); });
  }

  CacheFolder folder;
  Eviction eviction;
  Counted counted;
};

struct CachedObject::State {
  std::shared_ptr<DiskCache::State> cache;
  std::shared_ptr<ObjectTable> table;
  Counted counted = {};
};

CachedObject::CachedObject(std::shared_ptr<State> state) : state_(std::move(state)) {}
CachedObject::~CachedObject() = default;

std::uint64_t CachedObject::block_bytes() const noexcept {
  return state_->table->header().block_bytes;
}

std::uint64_t CachedObject::block_count() const noexcept {
  return state_->table->block_count();
}

bool CachedObject::has(std::uint64_t block) const noexcept {
  return state_->table->has(block);
}

DiskCacheStats CachedObject::stats() const {
  return state_->counted.stats();
}

bool CachedObject::read(std::uint64_t offset, std::span<std::byte> bytes) noexcept {
  if (bytes.empty()) return true;
  ObjectTable& table = *state_->table;
  DiskCache::State& cache = *state_->cache;
  const std::uint64_t size = block_bytes();
  const std::uint64_t blocks = (offset + bytes.size() - 1) / size - offset / size + 1;
  std::uint64_t bad = 0;
  ObjectTable::Found found = ObjectTable::Found::absent;
  {
    const Timed mine(state_->counted.reading), all(cache.counted.reading);
    found = table.read(offset, bytes, bad);
  }
  for (Counted* counted : {&state_->counted, &cache.counted}) {
    if (found == ObjectTable::Found::sound) {
      Counted::add(counted->hits, blocks);
      Counted::add(counted->bytes_read, blocks * size);
    } else {
      Counted::add(counted->misses, 1U);
      Counted::add(counted->bad, found == ObjectTable::Found::bad ? 1U : 0U);
    }
  }
  if (found == ObjectTable::Found::bad && table.evict(bad)) cache.folder.release(table.block_charge(bad));
  return found == ObjectTable::Found::sound;
}

bool CachedObject::keep(std::uint64_t block, std::span<const std::byte> bytes, bool evicts) noexcept {
  DiskCache::State& cache = *state_->cache;
  ObjectTable& table = *state_->table;
  if (block >= table.block_count() || bytes.size() != table.block_size(block)) return false;
  if (table.has(block)) {
    cache.eviction.planned(state_->table, block);
    return true;
  }
  if (cache.folder.stopped() || table.torn()) return false;
  const bool room =
      evicts ? cache.eviction.make_room(state_->table, block) : cache.folder.reserve(table.block_charge(block));
  if (!room) {
    Counted::add(state_->counted.bypassed, 1U);
    Counted::add(cache.counted.bypassed, 1U);
    return false;
  }
  int failed = 0;
  {
    const Timed mine(state_->counted.writing), all(cache.counted.writing);
    failed = table.write(block, bytes);
  }
  if (failed != 0) cache.folder.release(table.block_charge(block));
  if (failed != 0 && failed != EEXIST) {
    // A full disk or a lack of descriptors may pass, so caching only pauses. After other errors it stops.
    const bool passes =
        failed == ENOSPC || failed == EDQUOT || failed == ENOMEM || failed == EMFILE || failed == ENFILE;
    std::string why;
    static_cast<void>(caught([&] { why = "cannot write to it (" + error_number_name(failed) + ")"; }));
    passes ? cache.folder.pause(why) : cache.folder.stop(why);
    return false;
  }
  Counted::add(state_->counted.bytes_written, bytes.size());
  Counted::add(cache.counted.bytes_written, bytes.size());
  cache.eviction.planned(state_->table, block);
  return true;
}

void CachedObject::planned(std::uint64_t block) noexcept {
  if (state_->table->has(block)) state_->cache->eviction.planned(state_->table, block);
}

DiskCache::DiskCache(std::shared_ptr<State> state) : state_(std::move(state)) {}
DiskCache::~DiskCache() = default;

std::filesystem::path DiskCache::resolved(const std::filesystem::path& dir) {
  return cache_path(dir);
}

std::shared_ptr<DiskCache> DiskCache::open(const std::filesystem::path& dir, std::uint64_t limit) {
  return std::shared_ptr<DiskCache>(new DiskCache(std::make_shared<State>(cache_path(dir), limit)));
}

const std::filesystem::path& DiskCache::path() const {
  return state_->folder.path();
}

std::shared_ptr<CachedObject> DiskCache::object(const StoredObject& object, std::uint64_t mean_value) {
  // Without a version or a modification time, a changed object would look the same and stale blocks would be served.
  if (version_of(object).empty() && object.info.modified == 0) return nullptr;
  if (object.info.size == 0) return nullptr;
  guard_against_sigbus();
  const std::uint64_t smallest = std::max(kSmallestCached, std::bit_ceil(state_->folder.unit()));
  const std::uint64_t block =
      std::clamp(std::bit_floor(std::max<std::uint64_t>(mean_value / 8, 1)), smallest, kLargestCached);
  auto table = ObjectTable::make(
      state_->folder, CachedObjectId::of(object),
      {.size = object.info.size, .block_bytes = block, .address = object.address, .version = version_of(object)});
  if (table == nullptr) return nullptr;
  auto state = std::make_shared<CachedObject::State>();
  state->cache = state_;
  state->table = std::move(table);
  return std::shared_ptr<CachedObject>(new CachedObject(std::move(state)));
}

std::unique_ptr<PublishedPlan> DiskCache::publish(std::span<const std::shared_ptr<CachedObject>> objects,
                                                  const PublishedPlanOptions& options) {
  std::vector<PublishedPlan::Object> listed;
  for (const auto& object : objects)
    listed.push_back({object->state_->table->id(), object->state_->table->block_count()});
  auto plan = std::make_unique<PublishedPlan>(state_->folder, listed, options);
  state_->eviction.look_at_plans();
  return plan;
}

std::uint64_t DiskCache::used() const {
  return state_->folder.used();
}

std::uint64_t DiskCache::limit() const {
  return state_->folder.room();
}

DiskCacheStats DiskCache::stats() const {
  DiskCacheStats stats = state_->counted.stats();
  stats.bytes_evicted = state_->eviction.evicted_bytes();
  stats.evicting = state_->eviction.busy();
  stats.used = state_->folder.used();
  stats.limit = state_->folder.limit();
  return stats;
}

std::string DiskCache::stopped() const {
  return state_->folder.stop_reason();
}

namespace {

std::vector<std::shared_ptr<PlanView>> live_plans(CacheFolder& folder) {
  std::vector<std::string> names;
  visit_names(folder.path() / "plans", [&](const char* name) {
    if (!std::string_view(name).ends_with(".tmp")) names.emplace_back(name);
    return true;
  });
  std::vector<std::shared_ptr<PlanView>> plans;
  for (const std::string& name : names)
    if (auto plan = PlanView::open(folder, name)) plans.push_back(std::move(plan));
  return plans;
}

}  // namespace

std::vector<CachedObjectInfo> DiskCache::objects() const {
  guard_against_sigbus();
  const auto plans = live_plans(state_->folder);
  std::vector<CachedObjectInfo> all;
  for (const CachedObjectId& id : cached_ids(state_->folder)) {
    const auto table = ObjectTable::find(state_->folder, id);
    if (table == nullptr) continue;
    CachedObjectInfo& info = all.emplace_back(CachedObjectInfo{.address = table->header().address,
                                                               .version = table->header().version,
                                                               .size = table->header().size,
                                                               .block_bytes = table->header().block_bytes});
    table->each_kept([&](std::uint64_t block) { info.kept += table->block_size(block); });
    for (const auto& plan : plans) info.wanted_by += plan->entries(id, table->block_count()) != nullptr ? 1U : 0U;
  }
  std::ranges::sort(all, {}, &CachedObjectInfo::address);
  return all;
}

std::vector<CacheUser> DiskCache::users() const {
  guard_against_sigbus();
  std::vector<CacheUser> users;
  for (const auto& plan : live_plans(state_->folder)) users.push_back({.pid = plan->pid(), .objects = plan->objects()});
  return users;
}

std::uint64_t DiskCache::clear() {
  guard_against_sigbus();
  std::uint64_t bytes = 0;
  for (const CachedObjectId& id : cached_ids(state_->folder)) {
    const auto table = ObjectTable::find(state_->folder, id);
    if (table == nullptr) continue;
    table->each_kept([&](std::uint64_t block) {
      if (!table->evict(block)) return;
      state_->folder.release(table->block_charge(block));
      bytes += table->block_size(block);
    });
  }
  return bytes;
}

}  // namespace penstock
