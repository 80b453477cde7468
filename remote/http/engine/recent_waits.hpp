// Recent response times, to detect slow answers.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace penstock {

class RecentWaits {
 public:
  using Duration = std::chrono::steady_clock::duration;

  void add(Duration wait) {
    waits_[count_ % waits_.size()] = wait;
    ++count_;
  }
  /// Returns the 90th percentile; the maximum duration until enough answers are known.
  Duration ninth_of_ten() const {
    if (count_ < waits_.size()) return Duration::max();
    auto sorted = waits_;
    auto* const at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 9 / 10);
    std::ranges::nth_element(sorted, at);
    return *at;
  }

 private:
  std::array<Duration, 64> waits_{};
  std::size_t count_ = 0;
};

}  // namespace penstock
