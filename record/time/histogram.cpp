#include <algorithm>
#include <cmath>

#include <penstock/stats.hpp>
#include <record/time/histogram.hpp>

namespace penstock {

Distribution& Distribution::operator+=(const Distribution& other) {
  count += other.count;
  sum += other.sum;
  max = std::max(max, other.max);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  return *this;
}

std::uint64_t Distribution::quantile(double share) const {
  if (count == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count)));
  if (rank >= count) return max;
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    seen += counts[bucket];
    if (seen < std::max<std::uint64_t>(rank, 1)) continue;
    return middle(bucket);
  }
  return max;
}

std::uint64_t Distribution::middle(std::size_t bucket) const {
  const std::uint64_t first = Buckets::first(bucket);
  const std::uint64_t last = bucket + 1 < counts.size() ? Buckets::first(bucket + 1) - 1 : max;
  return std::min(first + (last - first) / 2, max);
}

std::array<std::uint64_t, 65> Distribution::sums_by_width() const {
  std::array<std::uint64_t, 65> sums{};
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket)
    sums[static_cast<std::size_t>(std::bit_width(middle(bucket)))] += counts[bucket] * middle(bucket);
  return sums;
}

Distribution Histogram::get() const {
  Distribution now;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    now.counts[i] = counts_[i].load(std::memory_order_relaxed);
    now.count += now.counts[i];
  }
  now.sum = sum_.load(std::memory_order_relaxed);
  now.max = max_.load(std::memory_order_relaxed);
  return now;
}

void Histogram::reset() {
  for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  sum_.store(0, std::memory_order_relaxed);
  max_.store(0, std::memory_order_relaxed);
}

}  // namespace penstock
