#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <base/caught.hpp>
#include <base/sigbus_guard.hpp>
#include <base/thread.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <storage/disk_cache/block_entries.hpp>
#include <storage/disk_cache/next_use.hpp>
#include <storage/disk_cache/object_table.hpp>
#include <storage/disk_cache/planned_cache.hpp>
#include <storage/disk_cache/published_plan.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kInFlightBatches = 64;
constexpr std::uint64_t kInFlightRows = 4096;
constexpr std::chrono::seconds kRateTime{1};
constexpr std::size_t kMostTogether = std::size_t{1} << 16;

// Equal for loaders that read the same rows side by side: these run at the same speed.
std::uint64_t pace_of(const Dataset& dataset, const PlanOptions& plan) {
  std::uint64_t pace = hash64(dataset.path().string());
  for (const std::uint64_t number : {plan.samples, plan.seed, std::uint64_t{plan.batch_size}, std::uint64_t{plan.world},
                                     std::uint64_t{plan.shuffle}, plan.shuffle_block, plan.shuffle_window})
    pace = mix64(pace + number) + kFnvOffset;
  return pace;
}

}  // namespace

struct PlannedCache::State {
  struct File {
    std::shared_ptr<CachedObject> object = {};
    std::size_t number = 0;  // number in the plan
  };
  struct Used {
    std::uint32_t file;
    std::uint64_t block;
  };

  State(std::shared_ptr<DiskCache> disk_cache, const Dataset& of, const Program& compiled, const Selection& chosen,
        std::shared_ptr<const Windows> of_windows, const PlanOptions& plan_options)
      : cache(std::move(disk_cache)),
        dataset(of),
        program(compiled),
        selection(chosen),
        windows(std::move(of_windows)),
        options(plan_options) {}

  void find_objects();
  void run(const std::stop_token& stop);
  void look(const std::stop_token& stop);
  void say_again(std::uint64_t from);
  void told(std::uint32_t file, std::uint64_t block) noexcept;

  const std::shared_ptr<DiskCache> cache;
  const Dataset dataset;
  const Program& program;
  const Selection& selection;
  const std::shared_ptr<const Windows> windows;
  const PlanOptions options;
  std::vector<File> files;
  std::vector<std::shared_ptr<CachedObject>> objects;  // each once, in the order of the plan's numbers
  std::unique_ptr<PublishedPlan> plan;
  std::atomic<NextUse*> next{nullptr};  // set once it is made
  std::unique_ptr<NextUse> owned_next;
  std::atomic<bool> told_once{false};    // the whole plan was published
  std::atomic<std::uint64_t> now{0};     // first step that is neither read nor in flight, except for its batch
  std::atomic<std::uint64_t> missed{0};  // blocks that came from the store

  mutable std::mutex mutex;  // guards the members below
  std::condition_variable_any changed;
  Position position;           // of the batch that is read next
  Position planned_from;       // start of the run of batches that `next` covers
  bool anew = true;            // another order, or a jump within it
  bool other = true;           // another order: all published uses are wrong
  bool looked = false;         // the plan is published as last requested
  std::uint64_t look_at = 0;   // step of the next look()
  std::vector<Used> together;  // blocks that rows of the current batch may need again
  bool says_again = false;
  std::string failure;
  // Measured speed of the loader.
  double rate = 0;
  std::uint64_t rate_step = 0;
  std::chrono::steady_clock::time_point rate_time{};

  Thread thread;
};

void PlannedCache::State::find_objects() {
  files.resize(dataset.file_count());
  // mean_value() does not depend on the block size, so any size does: 1 MiB for each file in a store.
  const BlockBytes in_store = [this](std::uint32_t file) -> std::uint64_t {
    return dataset.stored_object(file) != nullptr ? std::uint64_t{1} << 20 : 0;
  };
  const std::uint64_t mean = RowBlocks(dataset, program, selection, windows.get(), in_store).mean_value();
  std::map<CachedObjectId, File> known;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const auto& stored = dataset.stored_object(file);
    if (stored == nullptr) continue;
    const auto [place, added] = known.try_emplace(CachedObjectId::of(*stored));
    if (added) {
      place->second.object = cache->object(*stored, mean);
      place->second.number = objects.size();
      if (place->second.object != nullptr) objects.push_back(place->second.object);
    }
    files[file] = place->second;
  }
}

// Extends the published plan; after a jump or in another order, publishes all of it.
void PlannedCache::State::look(const std::stop_token& stop) {
  Position from;
  bool all = false, forgets = false;
  {
    const std::scoped_lock lock(mutex);
    from = position;
    all = std::exchange(anew, false);
    forgets = std::exchange(other, false);
    planned_from = all ? from : planned_from;
  }
  NextUse& use = *owned_next;
  if (all) use.go_to(from);
  if (forgets) plan->forget();
  std::uint64_t step = use.step_of(from);
  if (step == NextUse::kNever) step = now.load(std::memory_order_relaxed);
  if (all) {
    now.store(step, std::memory_order_relaxed);
    plan->now(step, rate);
    next.store(&use, std::memory_order_release);
  }
  use.look_ahead(
      step, all,
      [this](const BlockRun& run, std::uint64_t found) {
        const File& file = files[run.file];
        if (file.object == nullptr) return;
        for (std::uint64_t block = run.first; block <= run.last; ++block) plan->set_earlier(file.number, block, found);
      },
      stop);
  told_once.store(true, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex);
  look_at = step + use.looks_again();
  looked = !anew;
  changed.notify_all();
}

// Updates blocks that rows of one batch may share, once that batch is in flight.
void PlannedCache::State::say_again(std::uint64_t from) {
  std::vector<Used> used;
  {
    const std::scoped_lock lock(mutex);
    used.swap(together);
    says_again = false;
  }
  for (const Used& one : used) {
    const File& file = files[one.file];
    plan->set(file.number, one.block, owned_next->at(one.file, one.block, from));
    file.object->planned(one.block);
  }
}

void PlannedCache::State::run(const std::stop_token& stop) {
  const auto failed = caught([&] {
    owned_next = NextUse::make({.dataset = dataset,
                                .program = program,
                                .selection = selection,
                                .windows = windows.get(),
                                .block_bytes = [this](std::uint32_t file) -> std::uint64_t {
                                  return files[file].object != nullptr ? files[file].object->block_bytes() : 0;
                                }},
                               options, stop);
    while (!stop.stop_requested()) {
      look(stop);
      while (true) {
        std::unique_lock lock(mutex);
        const auto due = [&] { return anew || says_again || now.load(std::memory_order_relaxed) >= look_at; };
        if (!changed.wait(lock, stop, due)) return;
        if (anew || now.load(std::memory_order_relaxed) >= look_at) break;
        lock.unlock();
        say_again(now.load(std::memory_order_relaxed));
      }
    }
  });
  if (failed == nullptr || stop.stop_requested()) return;
  const std::scoped_lock lock(mutex);
  static_cast<void>(caught([&] { failure = error_of(failed).cause(); }));
  looked = true;
  changed.notify_all();
}

void PlannedCache::State::told(std::uint32_t number, std::uint64_t block) noexcept {
  static_cast<void>(caught([&] {
    const NextUse* const use = next.load(std::memory_order_acquire);
    if (use == nullptr) return;
    const File& file = files[number];
    const bool near = use->neighbours_together();
    const std::uint64_t from = now.load(std::memory_order_relaxed), behind = from + options.batch_size;
    const std::uint64_t step = use->at(number, block, near ? from : behind);
    plan->set(file.number, block, step);
    if (!near || step >= behind) return;
    const std::scoped_lock lock(mutex);
    if (together.size() < kMostTogether) together.push_back({number, block});
  }));
}

PlannedCache::PlannedCache(std::shared_ptr<DiskCache> cache, const Dataset& dataset, const Program& program,
                           const Selection& selection, std::shared_ptr<const Windows> windows, const PlanOptions& plan)
    : state_(std::make_shared<State>(std::move(cache), dataset, program, selection, std::move(windows), plan)) {
  guard_against_sigbus();
  State& state = *state_;
  state.position = {.seed = plan.seed, .shuffle_block = plan.shuffle_block};
  state.find_objects();
  if (state.objects.empty())
    throw Error::resource("the cache in " + state.cache->path().string() +
                          " has no room for a table of the dataset's objects");
  const std::uint64_t rows = plan.samples / plan.world + plan.batch_size;
  state.plan =
      state.cache->publish(state.objects, {.pace = pace_of(dataset, plan),
                                           .in_flight = std::max(kInFlightBatches * plan.batch_size, kInFlightRows),
                                           .longest = 64 * rows});
  state.thread = Thread("outlook", [shared = state_.get()](std::stop_token stop) { shared->run(stop); });
}

PlannedCache::~PlannedCache() {
  state_->thread = Thread();
}

void PlannedCache::reached(const Position& position, bool begins) noexcept {
  State& state = *state_;
  static_cast<void>(caught([&] {
    const NextUse* const use = state.next.load(std::memory_order_acquire);
    const std::scoped_lock lock(state.mutex);
    const std::uint64_t planned_start = position.epoch == state.planned_from.epoch ? state.planned_from.start : 0;
    // A new epoch in the same order is not another order.
    const bool other = !position.same_order(state.position.first_of(position.epoch)) || position.start != planned_start;
    const std::uint64_t before = state.now.load(std::memory_order_relaxed);
    const std::uint64_t step = use != nullptr && !other ? use->step_of(position) : NextUse::kNever;
    state.position = position;
    // After a jump within the same order, published uses stay right, except those between the two positions.
    const bool elsewhere = begins && (use == nullptr || step == NextUse::kNever || step != before);
    if (other || elsewhere) {
      state.anew = true;
      state.other |= other;
      state.looked = false;
      state.changed.notify_all();
    }
    if (other || use == nullptr || step == NextUse::kNever) return;
    const auto time = std::chrono::steady_clock::now();
    if (step < state.rate_step || state.rate_time.time_since_epoch().count() == 0) {
      state.rate_step = step;
      state.rate_time = time;
    } else if (time - state.rate_time >= kRateTime) {
      const double measured =
          static_cast<double>(step - state.rate_step) / std::chrono::duration<double>(time - state.rate_time).count();
      state.rate = state.rate == 0 ? measured : 0.7 * state.rate + 0.3 * measured;
      state.rate_step = step;
      state.rate_time = time;
    }
    state.now.store(step, std::memory_order_relaxed);
    state.plan->now(step, state.rate);
    if (!state.together.empty()) state.says_again = true;
    if (state.says_again || step >= state.look_at) state.changed.notify_all();
  }));
}

void PlannedCache::wait_planned() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->looked; });
}

DiskCacheStats PlannedCache::stats() const {
  DiskCacheStats stats;
  for (const auto& object : state_->objects) stats += object->stats();
  // A missing block is not requested from the object, and an invalid one comes from the store as well, so misses are
  // counted here.
  stats.misses = state_->missed.load(std::memory_order_relaxed);
  const DiskCacheStats all = state_->cache->stats();
  stats.bytes_evicted = all.bytes_evicted;
  stats.evicting = all.evicting;
  stats.used = all.used;
  stats.limit = all.limit;
  return stats;
}

const std::filesystem::path& PlannedCache::path() const {
  return state_->cache->path();
}

std::string PlannedCache::note() const {
  const std::string where = "cache at " + state_->cache->path().string() + ": ";
  const std::string stopped = state_->cache->stopped();
  const std::scoped_lock lock(state_->mutex);
  if (!stopped.empty()) return where + stopped;
  if (!state_->failure.empty()) return where + "the plan could not be read: " + state_->failure;
  return {};
}

std::uint64_t PlannedCache::block_bytes(std::uint32_t file) const noexcept {
  if (file >= state_->files.size() || state_->files[file].object == nullptr) return 0;
  return state_->files[file].object->block_bytes();
}

bool PlannedCache::has(std::uint32_t file, std::uint64_t block) const noexcept {
  return block_bytes(file) != 0 && state_->files[file].object->has(block);
}

bool PlannedCache::read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> bytes) noexcept {
  return block_bytes(file) != 0 && state_->files[file].object->read(offset, bytes);
}

void PlannedCache::keep(std::uint32_t file, std::uint64_t block, std::span<const std::byte> bytes) noexcept {
  if (block_bytes(file) == 0) return;
  if (!state_->files[file].object->has(block)) state_->missed.fetch_add(1, std::memory_order_relaxed);
  state_->told(file, block);
  // Until the plan is published, blocks of other trainings may look unused: this training may be about to read them.
  state_->files[file].object->keep(block, bytes, state_->told_once.load(std::memory_order_relaxed));
}

void PlannedCache::used(std::uint32_t file, std::uint64_t block) noexcept {
  if (block_bytes(file) == 0) return;
  state_->told(file, block);
  state_->files[file].object->planned(block);
}

std::shared_ptr<PlannedCache> open_planned_cache(const PlannedCacheOptions& options, const Dataset& dataset,
                                                 const Program& program, const Selection& selection,
                                                 std::shared_ptr<const Windows> windows, const PlanOptions& plan,
                                                 std::string& note) {
  if (options.folder.empty() || !dataset.in_store()) return nullptr;
  std::shared_ptr<PlannedCache> cache;
  const auto failure = caught([&] {
    cache = std::make_shared<PlannedCache>(DiskCache::open(options.folder, options.limit), dataset, program, selection,
                                           std::move(windows), plan);
  });
  if (failure != nullptr) note = "the disk cache is not used: " + error_of(failure).cause();
  return cache;
}

}  // namespace penstock
