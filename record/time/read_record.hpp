// Records the loader's reads: the duration of each, and the bytes in flight at the same time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/histogram.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/trace_log.hpp>

namespace penstock {

/// Thread-safe.
class ReadRecord {
 public:
  static constexpr std::size_t kReads = 2048;  ///< number of last reads that are kept

  /// `trace` records reads ahead and must outlive this object. Null: no trace.
  explicit ReadRecord(TraceLane* trace = nullptr) : trace_(trace) {}

  /// Records the start of a read. end() must follow.
  ReadSpan begin(std::uint64_t bytes, Clock::time_point now);
  /// `ahead`: an engine read ahead of a worker. Reads by a worker are part of its row in a trace.
  void end(const ReadSpan& read, Clock::time_point now, bool ahead = false);
  void reset();

  Distribution latency() const { return latency_.get(); }       ///< nanoseconds
  Distribution concurrency() const { return together_.get(); }  ///< reads in flight when one began, including it
  std::uint64_t under_way() const { return under_way_.load(std::memory_order_relaxed); }  ///< bytes
  /// Returns the last reads that ended. A few may be missing if many ended at once.
  std::vector<ReadSpan> last() const;

 private:
  TraceLane* const trace_;
  Histogram latency_, together_;
  std::atomic<std::uint64_t> under_way_{0}, reads_{0};  // relaxed: statistics, order nothing
  mutable std::mutex mutex_;                            // guards all below
  std::array<ReadSpan, kReads> kept_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace penstock
