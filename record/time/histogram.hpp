// Counts values by their size while other threads read the counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <penstock/stats.hpp>

namespace penstock {

/// Thread-safe. All accesses are relaxed, because the values are only for reports: a reader may see a value counted
/// but not yet summed.
class Histogram {
 public:
  void add(std::uint64_t value) {
    counts_[Buckets::of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
    std::uint64_t max = max_.load(std::memory_order_relaxed);
    while (value > max && !max_.compare_exchange_weak(max, value, std::memory_order_relaxed)) {
    }
  }
  Distribution get() const;
  void reset();

 private:
  std::array<std::atomic<std::uint64_t>, Buckets::kCount> counts_{};
  std::atomic<std::uint64_t> sum_{0}, max_{0};
};

}  // namespace penstock
