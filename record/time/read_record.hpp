// Records reads as the loader sees them: how long each took, and what was on its way meanwhile.
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

/// Any thread adds, any thread reads.
class ReadRecord {
 public:
  static constexpr std::size_t kReads = 2048;  ///< kept, the last ones

  /// `trace`: is told of reads ahead; outlives this. Null: nobody is.
  explicit ReadRecord(TraceLane* trace = nullptr) : trace_(trace) {}

  /// It begins; end() must follow.
  ReadSpan begin(std::uint64_t bytes, Clock::time_point now);
  /// `ahead`: of a worker, by an engine; what a worker reads itself is part of its row in a trace.
  void end(const ReadSpan& read, Clock::time_point now, bool ahead = false);
  void reset();

  Distribution latency() const { return latency_.get(); }       ///< nanoseconds
  Distribution concurrency() const { return together_.get(); }  ///< reads under way when one began, with it
  std::uint64_t under_way() const { return under_way_.load(std::memory_order_relaxed); }  ///< bytes
  /// The last ones that ended, of which a few may be missing where many ended at once.
  std::vector<ReadSpan> last() const;

 private:
  TraceLane* const trace_;
  Histogram latency_, together_;
  std::atomic<std::uint64_t> under_way_{0}, reads_{0};  // relaxed: figures, order nothing
  mutable std::mutex mutex_;                            // guards all below
  std::array<ReadSpan, kReads> kept_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace penstock
