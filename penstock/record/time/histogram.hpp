// Counts values by their size, so that percentiles can be told at any time.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace penstock {

/// Buckets of a value's size: those below kSteps one by one, then kSteps to each doubling (the layout of HdrHistogram),
/// so that a value is told apart from others by a sixteenth of it.
struct Buckets {
  static constexpr unsigned kStepBits = 4, kSteps = 1U << kStepBits;
  static constexpr unsigned kBits = 42;  ///< values from 2^42 on (of nanoseconds: 73 minutes) share the last bucket
  static constexpr std::size_t kCount = (kBits - kStepBits + 1) * std::size_t{kSteps};

  static constexpr std::size_t of(std::uint64_t value) {
    if (value < kSteps) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kStepBits - 1;
    const std::size_t bucket = ((std::size_t{shift} + 1) << kStepBits) + ((value >> shift) - kSteps);
    return bucket < kCount ? bucket : kCount - 1;
  }
  static constexpr std::uint64_t first(std::size_t bucket) {  ///< smallest value in it
    if (bucket < kSteps) return bucket;
    const std::size_t shift = (bucket >> kStepBits) - 1;
    return (std::uint64_t{kSteps} + (bucket & (kSteps - 1))) << shift;
  }
};

/// What a Histogram held at one moment; sums of several may be taken.
struct Distribution {
  std::uint64_t count = 0, sum = 0, max = 0;
  std::array<std::uint64_t, Buckets::kCount> counts{};

  Distribution& operator+=(const Distribution& other);
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }
  /// The value that a share of all, 0 to 1, do not exceed: exact below 16, else within a sixteenth. 0 for none.
  std::uint64_t quantile(double share) const;
  /// The sum of the values of each std::bit_width(), within a sixteenth.
  std::array<std::uint64_t, 65> sums_by_width() const;

 private:
  std::uint64_t middle(std::size_t bucket) const;
};

/// Any thread adds, any thread reads. All accesses are relaxed: for reports only, so that a reader may see a value
/// counted that is not yet summed.
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
