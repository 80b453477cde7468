#include <algorithm>
#include <set>

#include <base/caught.hpp>
#include <base/sigbus_guard.hpp>
#include <formats/io/folder_entries.hpp>
#include <storage/disk_cache/eviction.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kSweptPart = 128;  // a sweep selects 1 in 128 blocks as candidates
constexpr std::uint64_t kFewestSwept = 16;
constexpr std::uint64_t kEventsPart = 32;  // a sweep is due after this share of next uses may have changed
constexpr std::uint64_t kFewestEvents = 64;
constexpr std::uint64_t kProbedBlocks = std::uint64_t{1}
                                        << 16;  // blocks sampled to find the threshold of the latest uses
constexpr std::chrono::milliseconds kPlanLooks{500};
constexpr std::uint64_t kMostAtOnce = std::uint64_t{16} << 20;  // bytes that one caller evicts at most

}  // namespace

template <typename Make>
bool Eviction::locked(const Make& make) noexcept {
  const auto began = std::chrono::steady_clock::now();
  bool made = false;
  const auto failure = caught([&] {
    const std::scoped_lock lock(mutex_);
    if (look_again()) sweep();
    read_clocks();
    made = make();
  });
  busy_.fetch_add((std::chrono::steady_clock::now() - began).count(), std::memory_order_relaxed);
  return failure == nullptr && made;
}

bool Eviction::make_room(const std::shared_ptr<ObjectTable>& object, std::uint64_t block) noexcept {
  events_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t bytes = object->block_charge(block);
  if (folder_.reserve(bytes)) return true;
  return locked([&] { return evict_for(bytes, away(kept_[number_of(object)], block)); });
}

bool Eviction::make_room(std::uint64_t bytes) noexcept {
  return locked([&] { return evict_for(bytes, -1); });
}

// The heap is only a hint. The due time of a candidate may be out of date, so each one is checked again before it is
// evicted. If a block is missing from the heap, the next sweep finds it.
bool Eviction::evict_for(std::uint64_t bytes, double own) {
  bool fresh = false;
  std::uint64_t left = 0;
  while (!folder_.reserve(bytes)) {
    if (own >= 0 && left >= bytes + kMostAtOnce) return false;  // a lowered limit is reached in steps
    if (candidates_.empty()) {
      if (fresh) return false;
      sweep();
      read_clocks();
      fresh = true;
      continue;
    }
    const Candidate last = candidates_.front();
    std::pop_heap(candidates_.begin(), candidates_.end());
    candidates_.pop_back();
    const Kept& kept = kept_[last.object];
    if (!kept.table->has(last.block)) continue;
    const double now = away(kept, last.block);
    const double due = now + clock();
    // The next use has moved closer, so the candidate is queued again with its new time. If that is before `from_`, the
    // candidate is dropped. The tolerances ignore rounding.
    if (due < last.due - 0.5 && due < last.due * (1 - 1e-9)) {
      if (due >= from_.load(std::memory_order_relaxed)) offer({due, last.object, last.block});
      continue;
    }
    // Even the candidate that is needed last is not needed later than the new block, so the new block is not kept.
    if (!(now > own)) {
      offer(last);
      return false;
    }
    const std::uint64_t size = kept.table->block_charge(last.block);
    if (!kept.table->evict(last.block)) continue;
    fresh = false;
    left += size;
    folder_.release(size);
    evicted_.fetch_add(kept.table->block_size(last.block), std::memory_order_relaxed);
  }
  return true;
}

void Eviction::planned(const std::shared_ptr<ObjectTable>& object, std::uint64_t block) noexcept {
  events_.fetch_add(1, std::memory_order_relaxed);
  if (from_.load(std::memory_order_relaxed) == PlanView::kFar) return;  // nothing was swept yet: there was always room
  static_cast<void>(caught([&] {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;  // the next sweep finds it
    const std::size_t number = number_of(object);
    read_clocks();
    const double due = away(kept_[number], block) + clock();
    if (due >= from_.load(std::memory_order_relaxed)) offer({due, number, block});
  }));
}

void Eviction::offer(Candidate candidate) {
  candidates_.push_back(candidate);
  std::push_heap(candidates_.begin(), candidates_.end());
}

// Returns true if the last sweep is out of date.
bool Eviction::look_again() {
  if (!swept_ || !joined_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (plans_old_.exchange(false, std::memory_order_relaxed) || now - plans_looked_ >= kPlanLooks) {
    if (find_plans()) return true;
  }
  const std::uint64_t many = std::max(kFewestEvents, swept_blocks_ / kEventsPart);
  return events_.load(std::memory_order_relaxed) > many || candidates_.size() > 4 * swept_blocks_ + 1024;
}

std::size_t Eviction::number_of(const std::shared_ptr<ObjectTable>& object) {
  if (const auto known = numbers_.find(object->id()); known != numbers_.end()) return known->second;
  Kept kept{.table = object, .wanted = {}};
  join_plans(kept);
  const std::size_t number = kept_.size();
  kept_.push_back(std::move(kept));
  if (const auto failure = caught([&] { numbers_.emplace(object->id(), number); })) {
    kept_.pop_back();
    std::rethrow_exception(failure);
  }
  return number;
}

// Objects are only added: their files are removed only while no process uses the folder.
void Eviction::find_objects() {
  for (const CachedObjectId& id : cached_ids(folder_)) {
    if (numbers_.contains(id)) continue;
    std::shared_ptr<ObjectTable> table;
    static_cast<void>(caught([&] { table = ObjectTable::find(folder_, id); }));
    if (table != nullptr) number_of(table);
  }
}

// Returns true if loaders have started or ended since the last call.
bool Eviction::find_plans() {
  plans_looked_ = std::chrono::steady_clock::now();
  std::set<std::string> there;
  visit_names(folder_.path() / "plans", [&](const char* name) {
    if (!std::string_view(name).ends_with(".tmp")) there.emplace(name);
    return true;
  });
  std::map<std::string, Plan> live;
  bool changed = false;
  for (const std::string& name : there) {
    const auto known = plans_.find(name);
    if (known != plans_.end()) {
      if (known->second.view->lives()) live.insert(*known);
      continue;
    }
    std::shared_ptr<PlanView> view;
    static_cast<void>(caught([&] { view = PlanView::open(folder_, name); }));
    if (view == nullptr) continue;
    live.emplace(name, Plan{.view = std::move(view)});
    changed = true;
  }
  if (!changed && live.size() == plans_.size()) {
    if (joined_) return false;
    join_plans();
    return true;
  }
  // If memory runs out below, no entry refers to a plan that is gone, and the next call continues.
  joined_ = false;
  for (Kept& kept : kept_) kept.wanted.clear();
  plans_ = std::move(live);
  const auto other_pace = [&](const auto& plan) {
    return plan.second.view->pace() != plans_.begin()->second.view->pace();
  };
  by_seconds_ = std::ranges::any_of(plans_, other_pace);
  join_plans();
  return true;
}

void Eviction::join_plans() {
  for (Kept& kept : kept_) join_plans(kept);
  joined_ = true;
}

void Eviction::join_plans(Kept& kept) const {
  kept.wanted.clear();
  for (const auto& [name, plan] : plans_)
    if (const auto* entries = plan.view->entries(kept.table->id(), kept.table->block_count()))
      kept.wanted.push_back({&plan, entries});
}

// Plans of one pace advance equally fast, whatever each has measured, so they share the mean of their rates.
void Eviction::read_clocks() {
  for (auto& [name, plan] : plans_) {
    plan.now = plan.view->now_told();
    plan.scale = 1;
  }
  if (!by_seconds_) return;
  struct Measured {
    double sum = 0;
    int count = 0;
  };
  std::map<std::uint64_t, Measured> of_pace;
  Measured all;
  for (const auto& [name, plan] : plans_) {
    const double rate = plan.view->rate();
    if (rate == 0) continue;
    for (Measured* measured : {&of_pace[plan.view->pace()], &all}) measured->sum += rate, ++measured->count;
  }
  for (auto& [name, plan] : plans_) {
    const auto own = of_pace.find(plan.view->pace());
    const Measured& measured = own != of_pace.end() ? own->second : all;
    plan.scale = measured.count != 0 ? measured.count / measured.sum : 1;
  }
}

double Eviction::clock() const {
  if (plans_.empty()) return 0;
  if (!by_seconds_) return plans_.begin()->second.view->now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Entries are in a file of another process, so the read is guarded: a truncated file raises SIGBUS.
double Eviction::away(const Kept& kept, std::uint64_t block) const {
  double soonest = PlanView::kFar;
  for (const Kept::Wanted& wanted : kept.wanted) {
    volatile std::uint32_t entry = 0;
    guarded_since([&] {
      entry = std::atomic_ref(const_cast<std::uint32_t&>(wanted.entries[block])).load(std::memory_order_relaxed);
    });
    soonest = std::min(soonest, wanted.plan->view->away(entry, wanted.plan->now) * wanted.plan->scale);
  }
  return soonest;
}

void Eviction::sweep() {
  find_objects();
  find_plans();
  read_clocks();
  const double now = clock();
  events_.store(0, std::memory_order_relaxed);
  candidates_.clear();
  std::uint64_t blocks = 0;
  for (const Kept& kept : kept_) blocks += kept.table->block_count();

  // Estimates from a sample of blocks the time from which a block counts as needed last.
  const std::uint64_t stride = blocks / kProbedBlocks + 1;
  std::vector<double> probes;
  std::uint64_t number = 0;
  for (const Kept& kept : kept_)
    kept.table->each_kept([&](std::uint64_t block) {
      if (number++ % stride == 0) probes.push_back(away(kept, block) + now);
    });
  swept_blocks_ = number;
  swept_ = true;
  from_.store(PlanView::kFar, std::memory_order_relaxed);
  if (probes.empty()) return;
  const std::uint64_t wanted = std::min<std::uint64_t>(
      probes.size(), std::max<std::uint64_t>(probes.size() / kSweptPart, kFewestSwept / stride + 1));
  const auto last = probes.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
  std::ranges::nth_element(probes, last, std::greater());
  const double from = *last;
  // Limits the candidates: very many blocks may have no known use, and some of them suffice.
  const std::uint64_t most = 2 * std::max(number / kSweptPart, kFewestSwept) + kFewestSwept;
  for (std::size_t i = 0; i < kept_.size() && candidates_.size() < 8 * most; ++i)
    kept_[i].table->each_kept([&](std::uint64_t block) {
      if (candidates_.size() >= 8 * most) return;
      const double due = away(kept_[i], block) + now;
      if (due >= from) candidates_.push_back({due, i, block});
    });
  std::make_heap(candidates_.begin(), candidates_.end());
  from_.store(from, std::memory_order_relaxed);
}

}  // namespace penstock
