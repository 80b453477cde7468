// Chooses the blocks to evict: those whose next use, over all live loaders, is furthest away (Belady's rule).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <storage/disk_cache/cache_folder.hpp>
#include <storage/disk_cache/object_table.hpp>
#include <storage/disk_cache/published_plan.hpp>

namespace penstock {

/// Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.
/// The next use of a block is the earliest one over all plans. If plans differ in pace, uses are compared in seconds,
/// by the measured rates.
/// A sweep over all cached blocks collects the hundredth that is needed last as candidates. Each candidate is checked
/// again before it is evicted. A new block does not displace blocks that are needed sooner: in that case the new block
/// is not kept. Thread-safe; one thread evicts at a time.
class Eviction {
 public:
  explicit Eviction(CacheFolder& folder) : folder_(folder) {}

  /// Reserves the bytes of a block, and evicts others if there is no room. Returns false if all cached blocks are
  /// needed sooner.
  bool make_room(const std::shared_ptr<ObjectTable>& object, std::uint64_t block) noexcept;
  /// Reserves bytes for tables and plans. Evicts blocks however soon they are needed.
  bool make_room(std::uint64_t bytes) noexcept;
  /// Reports that the next use of a cached block has changed.
  void planned(const std::shared_ptr<ObjectTable>& object, std::uint64_t block) noexcept;
  /// Reports that this process has a new plan.
  void look_at_plans() noexcept { plans_old_.store(true, std::memory_order_relaxed); }
  std::uint64_t evicted_bytes() const noexcept { return evicted_.load(std::memory_order_relaxed); }
  std::chrono::nanoseconds busy() const noexcept {
    return std::chrono::nanoseconds(busy_.load(std::memory_order_relaxed));
  }

 private:
  struct Plan {
    std::shared_ptr<PlanView> view;
    std::uint32_t now = 0;  // in the units of entries
    double scale = 1;       // seconds per step, so that plans of different pace compare; 1 if all have one pace
  };
  struct Kept {
    std::shared_ptr<ObjectTable> table;
    struct Wanted {
      const Plan* plan;
      const std::uint32_t* entries;
    };
    std::vector<Wanted> wanted;
  };
  struct Candidate {
    double due;  // on the scale of clock()
    std::size_t object;
    std::uint64_t block;
    // If due times are equal, the last block of an object leaves first. The beginning of a value stays cached,
    // and its rest is fetched again in one range without holes.
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return std::tie(a.due, a.object, a.block) < std::tie(b.due, b.object, b.block);
    }
  };

  template <typename Make>
  bool locked(const Make& make) noexcept;
  /// Evicts blocks whose next use is further away than `own`, until `bytes` are reserved.
  bool evict_for(std::uint64_t bytes, double own);
  bool look_again();
  void sweep();
  void find_objects();
  bool find_plans();
  void join_plans();
  void join_plans(Kept& kept) const;
  std::size_t number_of(const std::shared_ptr<ObjectTable>& object);
  void read_clocks();
  double clock() const;
  double away(const Kept& kept, std::uint64_t block) const;
  void offer(Candidate candidate);

  CacheFolder& folder_;
  std::atomic<std::uint64_t> evicted_{0};
  std::atomic<std::int64_t> busy_{0};
  std::atomic<double> from_{PlanView::kFar};  // candidates are due at this time or later
  std::atomic<bool> plans_old_{false};
  std::atomic<std::uint64_t> events_{0};  // changed next uses since the last sweep

  std::mutex mutex_;  // guards the members below
  std::vector<Kept> kept_;
  std::map<CachedObjectId, std::size_t> numbers_;
  std::map<std::string, Plan> plans_;
  bool joined_ = true;  // each element of kept_ lists the plans that use it
  bool by_seconds_ = false;
  std::vector<Candidate> candidates_;  // a heap
  std::uint64_t swept_blocks_ = 0;
  bool swept_ = false;
  std::chrono::steady_clock::time_point plans_looked_{};
};

}  // namespace penstock
