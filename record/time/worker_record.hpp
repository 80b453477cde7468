// Records a worker's rows. Histograms, the slowest samples and the times of outputs are derived from them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/histogram.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/work_log.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// One row that a worker filled, including retries after an error.
struct RowTime {
  Clock::time_point begin{};
  nanoseconds read{}, decode{}, transform{};  ///< by this worker, without reads ahead
  std::uint64_t sample = 0, epoch = 0;
  std::uint64_t bytes = 0;   ///< stored bytes of its fields
  std::uint32_t output = 0;  ///< the output that took longest to decode and transform
  nanoseconds work() const { return read + decode + transform; }
};

/// The longest rows, longest first.
class SlowestRows {
 public:
  static constexpr std::size_t kMost = 10;
  void add(const RowTime& row);
  std::span<const RowTime> rows() const { return {rows_.data(), count_}; }

 private:
  std::array<RowTime, kMost> rows_{};
  std::size_t count_ = 0;
};

/// Each worker has one and is the only thread that adds to it. Any thread may read it.
class WorkerRecord {
 public:
  static constexpr std::size_t kRows = 2048;  ///< number of last rows that are kept

  explicit WorkerRecord(std::size_t outputs);

  void row(const RowTime& row);
  /// Adds the times of the rows since the last call, by output.
  void outputs(std::span<const FillTimes> spent);
  /// Sets the calling thread as this worker's, so that its time on a core can be read.
  void runs_here();
  void reset();

  Distribution read() const { return read_.get(); }
  Distribution decode() const { return decode_.get(); }
  Distribution transform() const { return transform_.get(); }
  Distribution work() const { return work_.get(); }
  FillTimes output(std::size_t number) const;
  void add_slowest(SlowestRows& slowest) const;
  void add_last(std::size_t most, std::vector<RowSpan>& rows) const;  ///< at most `most` of the rows that are kept
  /// Calls visit(row) for each kept row, the oldest first. The worker blocks meanwhile if it adds a row.
  template <typename Visit>
  void visit(Visit visit) const {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < kept_; ++i) visit(rows_[(next_ + kRows - kept_ + i) % kRows]);
  }
  /// Times of the thread since reset(): on a core, and waiting for a core. Zeros if the system does not report them.
  struct Cores {
    nanoseconds on{}, waited{};
  };
  Cores cores() const;
  bool runs() const { return thread_.load(std::memory_order_relaxed) != 0; }  ///< runs_here() was called

 private:
  struct OutputTime {
    TimeSum decode, transform;
  };
  Cores told() const;

  Histogram read_, decode_, transform_, work_;
  std::vector<OutputTime> outputs_;
  std::atomic<int> thread_{0};  // relaxed: the system's thread number, 0 before it runs
  mutable std::mutex mutex_;    // guards all below
  std::unique_ptr<RowTime[]> rows_;
  std::size_t next_ = 0, kept_ = 0;
  SlowestRows slowest_;
  std::int64_t longest_ = 0;  // rows that took no longer are not among the slowest
  Cores before_;
};

using WorkerRecords = std::vector<std::unique_ptr<WorkerRecord>>;

}  // namespace penstock
