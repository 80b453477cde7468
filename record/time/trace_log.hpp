// Records individual spans of a loader's time while a trace is active.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <penstock/stats.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/worker_record.hpp>

namespace penstock {

/// A time span of a thread or a batch.
struct TraceSpan {
  enum class Kind : std::uint8_t {
    plan,     ///< the scheduler plans
    no_slab,  ///< it waits for a free slab
    no_room,  ///< it waits for room in the read window
    task,     ///< a worker fills rows
    reading,  ///< the rows of a task are read ahead of its worker
    request,  ///< one request to an engine that reads ahead
    piece,    ///< a worker helps with another's row
    mix,      ///< a worker mixes the rows of a batch
    deliver,  ///< a worker, after the last rows of a batch
    stage,    ///< a stage after the workers processes a batch
    copy,     ///< a batch is copied to a device, which works in parallel with all threads
    filling,  ///< a slot, `lane`, is filled
    full,     ///< a slot, `lane`, waits for the consumer, and then the consumer holds it
    next,     ///< the consumer waits
    step,     ///< the consumer works
  };
  Kind kind = Kind::plan;
  std::uint32_t lane = 0;  ///< for `filling` and `full`: the slot
  Clock::time_point begin{};
  nanoseconds took{};
  std::uint64_t batch = 0;              ///< Journey::batch; 0: none
  std::uint64_t epoch = 0, number = 0;  ///< of the batch
  std::uint64_t bytes = 0;              ///< that are read
  std::uint32_t first = 0, rows = 0;    ///< for a task: rows of the batch
  Clock::time_point sent{};             ///< for a task: same meaning as in Journey
};

/// The room for records of a trace, shared by all lanes.
struct TraceRoom {
  std::atomic<std::int64_t> left{0};  // relaxed, like the other: counts order nothing
  std::atomic<std::uint64_t> dropped{0};
};

/// Records of one type in the order of their addition.
template <typename Record>
class TraceList {
 public:
  /// Returns false if there is neither room nor memory.
  bool add(const Record& record, TraceRoom& room) {
    if (used_ == kChunk || chunks_.empty()) {
      if (!grow(room)) return false;
    }
    chunks_.back()[used_++] = record;
    return true;
  }
  std::size_t size() const { return chunks_.empty() ? 0 : (chunks_.size() - 1) * kChunk + used_; }
  template <typename Visit>
  void visit(Visit visit) const {
    for (std::size_t i = 0; i < size(); ++i) visit(chunks_[i / kChunk][i % kChunk]);
  }

 private:
  static constexpr std::size_t kChunk = 256;
  bool grow(TraceRoom& room) {
    if (room.left.fetch_sub(kChunk, std::memory_order_relaxed) < static_cast<std::int64_t>(kChunk)) {
      room.left.fetch_add(kChunk, std::memory_order_relaxed);
      return false;
    }
    try {
      chunks_.push_back(std::make_unique_for_overwrite<Record[]>(kChunk));
    } catch (const std::bad_alloc&) {
      return false;
    }
    used_ = 0;
    return true;
  }

  std::vector<std::unique_ptr<Record[]>> chunks_;
  std::size_t used_ = 0;
};

/// The records of one thread, or of one kind of threads.
class TraceLane {
 public:
  struct Records {
    TraceList<TraceSpan> spans;
    TraceList<RowTime> rows;   // of workers
    TraceList<Levels> levels;  // of the consumer
  };

  explicit TraceLane(TraceRoom& room) : room_(room) {}
  /// Whether add() keeps records. Costs nothing.
  bool on() const { return on_.load(std::memory_order_relaxed); }
  void add(const TraceSpan& span) { add_to(&Records::spans, span); }
  void add(const RowTime& row) { add_to(&Records::rows, row); }
  void add(const Levels& levels) { add_to(&Records::levels, levels); }

  void record(bool on) {
    const std::scoped_lock lock(mutex_);
    on_.store(on, std::memory_order_relaxed);
  }
  /// Stops recording and returns the records.
  Records end();

 private:
  template <typename Record>
  void add_to(TraceList<Record> Records::*list, const Record& record) {
    const std::scoped_lock lock(mutex_);
    if (!on() || (records_.*list).add(record, room_)) return;
    room_.dropped.fetch_add(1, std::memory_order_relaxed);
  }

  TraceRoom& room_;
  std::atomic<bool> on_{false};  // changed under the lock; relaxed: add_to() checks it again with the lock
  std::mutex mutex_;             // guards records_
  Records records_;
};

/// All lanes of a loader. Any thread adds records; the consumer's thread begins and ends a trace.
class TraceLog {
 public:
  explicit TraceLog(unsigned workers);

  TraceLane& consumer() { return lanes_[0]; }
  TraceLane& scheduler() { return lanes_[1]; }
  TraceLane& requests() { return lanes_[2]; }
  TraceLane& worker(std::size_t number) { return lanes_[kFirstWorker + number]; }
  TraceLane& add_stage();  ///< before the first trace, in the order of the stages

  void begin(std::uint64_t max_events);  ///< call record() afterwards
  void record(bool on);
  struct Recorded {
    TraceLane::Records consumer, scheduler, requests;
    std::vector<TraceLane::Records> workers, stages;
    Clock::time_point from{}, until{};  // time of the recording; spans may begin earlier
    std::uint64_t events = 0, dropped = 0;
  };
  Recorded end();

 private:
  static constexpr std::size_t kFirstWorker = 3;
  TraceRoom room_;
  const std::size_t workers_;
  Clock::time_point from_{};
  std::deque<TraceLane> lanes_;
};

}  // namespace penstock
