// A batch while it is built: its slab and rows, the state of each row, and the failures so far.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/loader/batch/slab.hpp>
#include <penstock/loader/plan/plan.hpp>
#include <penstock/loader/time/journey.hpp>
#include <penstock/loader/time/stats.hpp>

namespace penstock {

/// One per slab, recycled with it.
class BatchBuilder {
 public:
  enum class RowState : std::uint8_t { planned, reading, queued, decoding, done };

  BatchBuilder(Slab& slab, std::size_t outputs)
      : slab_(slab), buffered(outputs, 0), states_(std::make_unique<std::atomic<RowState>[]>(slab.capacity())) {}

  /// A new batch: `rows` says which samples it has. Called by the scheduler alone, before any worker.
  void begin(std::uint64_t seed, std::uint64_t generation, std::uint64_t sequence);
  /// As it begins: of the rows that were sent and queued by then.
  Journey journey_of(Clock::time_point sent, Clock::time_point queued) const;
  /// So many rows more are finished; true for the last ones, whose worker then seals the slab and delivers.
  bool finish_rows(std::uint32_t count);
  /// So many stored bytes were asked for, for these rows.
  void add_read(std::uint64_t bytes) { read_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  std::uint64_t read_bytes() const { return read_bytes_.load(std::memory_order_relaxed); }
  void set_state(std::uint32_t row, RowState state) { states_[row].store(state, std::memory_order_relaxed); }

  /// Keeps the failure of the first row in plan order, and counts the others.
  void fail(std::uint32_t row, std::exception_ptr failure);
  void add_bad(std::uint32_t row, BadSample bad);

  Slab& slab() { return slab_; }
  const Slab& slab() const { return slab_; }
  std::uint64_t seed() const { return seed_; }
  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  std::uint64_t sequence() const { return sequence_; }
  std::exception_ptr failure() const { return failure_; }
  std::uint64_t other_failures() const { return failures_ == 0 ? 0 : failures_ - 1; }
  std::vector<BadSample> take_bad();  ///< in row order
  /// For the dump of a timeout: the rows that are not done, with key and state; the first few by name.
  /// `key_of` names a planned row.
  std::string describe(const std::function<std::string_view(const Row&)>& key_of) const;
  /// True between begin() and the last finish_rows(): the rows are constant then.
  bool in_progress() const { return remaining_.load(std::memory_order_acquire) != 0; }

 private:
  Slab& slab_;

 public:
  std::vector<Row> rows;
  std::vector<std::uint8_t> buffered;  ///< by output: ragged rows of this batch are buffered, not written in place
  Clock::time_point begun{};           ///< its slab was free; from the scheduler
  Journey journey;                     ///< from whoever delivers

 private:
  std::uint64_t seed_ = 0, sequence_ = 0;
  std::atomic<std::uint64_t> generation_{0};  // relaxed: compared for equality only, ordered by remaining_
  std::atomic<std::uint32_t> remaining_{0};
  std::atomic<std::uint64_t> read_bytes_{0};  // relaxed: ordered by remaining_
  // For reports only: relaxed, orders nothing.
  std::unique_ptr<std::atomic<RowState>[]> states_;
  std::mutex mutex_;  // guards the rest while workers are at it
  std::exception_ptr failure_;
  std::uint32_t failed_row_ = 0;
  std::uint64_t failures_ = 0;
  std::vector<std::pair<std::uint32_t, BadSample>> bad_;
};

}  // namespace penstock
