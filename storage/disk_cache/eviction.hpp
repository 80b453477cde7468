// Chooses what leaves a disk cache: what all who live want last (Belady's rule).
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

/// A block's next use is the soonest of all plans; where plans differ in pace, by the seconds that their loaders take
/// until then. A sweep over all that is kept finds the blocks that are wanted last, some hundredth of them, and those
/// leave as room is needed, each looked at once more. What comes later than a new block's own next use does not leave
/// for it: that block is then not kept. Any number of threads may use it, one at a time evicts.
class Eviction {
 public:
  explicit Eviction(CacheFolder& folder) : folder_(folder) {}

  /// Reserves the bytes of a block, and evicts others for it where all is taken. False where these are wanted sooner.
  bool make_room(const std::shared_ptr<ObjectTable>& object, std::uint64_t block) noexcept;
  /// The same for what is no block: others leave for it whenever they are wanted.
  bool make_room(std::uint64_t bytes) noexcept;
  /// A block that is there is wanted at another time than before.
  void planned(const std::shared_ptr<ObjectTable>& object, std::uint64_t block) noexcept;
  /// Some plan of this process is new.
  void look_at_plans() noexcept { plans_old_.store(true, std::memory_order_relaxed); }
  std::uint64_t evicted_bytes() const noexcept { return evicted_.load(std::memory_order_relaxed); }
  std::chrono::nanoseconds busy() const noexcept {
    return std::chrono::nanoseconds(busy_.load(std::memory_order_relaxed));
  }

 private:
  struct Plan {
    std::shared_ptr<PlanView> view;
    std::uint32_t now = 0;  // as entries tell it
    double scale = 1;       // of steps, so that those of several plans compare
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
    // Of those wanted at one time the last of an object leaves first: what stays of a value is its beginning, and what
    // is fetched again is one range without a hole.
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return std::tie(a.due, a.object, a.block) < std::tie(b.due, b.object, b.block);
    }
  };

  template <typename Make>
  bool locked(const Make& make) noexcept;
  /// Blocks leave that are wanted later than so far away.
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
  std::atomic<double> from_{PlanView::kFar};  // candidates are due from then on
  std::atomic<bool> plans_old_{false};
  std::atomic<std::uint64_t> events_{0};  // that changed what is wanted last, since the last sweep

  std::mutex mutex_;  // guards what follows
  std::vector<Kept> kept_;
  std::map<CachedObjectId, std::size_t> numbers_;
  std::map<std::string, Plan> plans_;
  bool joined_ = true;  // each of kept_ knows the plans that want it
  bool by_seconds_ = false;
  std::vector<Candidate> candidates_;  // a heap
  std::uint64_t swept_blocks_ = 0;
  bool swept_ = false;
  std::chrono::steady_clock::time_point plans_looked_{};
};

}  // namespace penstock
