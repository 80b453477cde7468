// A batch under construction: its slab and rows, the state of each row, and the failures so far.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <loader/batch/slab.hpp>
#include <order/plan.hpp>
#include <penstock/error.hpp>
#include <penstock/stats.hpp>
#include <record/time/journey.hpp>

namespace penstock {

/// A place of a batch that one sample fills: a row of the ordinary outputs, or one step of a row of a window.
struct CellPlace {
  std::uint32_t window, row, step;
};

/// A sample of a batch with windows, and all places that it fills. The sample is read once for all of them.
struct Cell {
  std::uint64_t sample;
  std::string_view key;
  std::uint32_t first, count;  ///< in BatchBuilder::places, ordered by window
};

/// A row to mark invalid or to replace once all cells are done.
struct BrokenRow {
  CellPlace place;  ///< the first place that failed
  std::uint64_t sample;
  Error error;
};

/// Each slab has one builder and recycles it with the slab.
class BatchBuilder {
 public:
  enum class RowState : std::uint8_t { planned, reading, queued, decoding, done };

  /// `cells_of_row`: the maximum number of cells per row; only loaders with windows have more than 1.
  BatchBuilder(Slab& slab, std::size_t outputs, std::uint64_t cells_of_row = 1)
      : slab_(slab),
        buffered(outputs, 0),
        states_(std::make_unique<std::atomic<RowState>[]>(slab.capacity() * cells_of_row)) {}

  /// Starts a new batch. `rows` lists its samples. Only the scheduler calls this, before any worker sees the batch.
  void begin(std::uint64_t seed, std::uint64_t generation, std::uint64_t sequence);
  /// Returns the journey so far, for rows that were sent and queued at these times.
  Journey journey_of(Clock::time_point sent, Clock::time_point queued) const;
  /// Number of units that workers fill one by one: cells if there are any, else rows. Tasks, states and finish_rows()
  /// count units.
  std::uint32_t units() const { return static_cast<std::uint32_t>(cells.empty() ? rows.size() : cells.size()); }
  std::uint32_t row_of(std::uint32_t unit) const { return cells.empty() ? unit : places[cells[unit].first].row; }
  std::span<const CellPlace> places_of(const Cell& cell) const {
    return std::span(places).subspan(cell.first, cell.count);
  }
  /// Marks `count` more units as finished. Returns true for the last ones; that worker then seals the slab and
  /// delivers.
  bool finish_rows(std::uint32_t count);
  /// Adds stored bytes that were requested for these rows.
  void add_read(std::uint64_t bytes) { read_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  std::uint64_t read_bytes() const { return read_bytes_.load(std::memory_order_relaxed); }
  void set_state(std::uint32_t row, RowState state) { states_[row].store(state, std::memory_order_relaxed); }

  /// Keeps the failure of the first row in plan order and counts the others.
  void fail(std::uint32_t row, std::exception_ptr failure);
  void add_bad(std::uint32_t row, BadSample bad);
  void add_broken(BrokenRow broken);
  std::vector<BrokenRow> take_broken();  ///< the first place of each row, in row order

  Slab& slab() { return slab_; }
  const Slab& slab() const { return slab_; }
  std::uint64_t seed() const { return seed_; }
  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  std::uint64_t sequence() const { return sequence_; }
  std::exception_ptr failure() const { return failure_; }
  std::uint64_t other_failures() const { return failures_ == 0 ? 0 : failures_ - 1; }
  std::vector<BadSample> take_bad();  ///< in row order
  /// Lists the unfinished rows with key and state for the dump of a timeout. Only the first few are named. `key_of`
  /// returns the key of a planned row.
  std::string describe(const std::function<std::string_view(const Row&)>& key_of) const;
  /// True between begin() and the last finish_rows(). The rows are constant during that time.
  bool in_progress() const { return remaining_.load(std::memory_order_acquire) != 0; }

 private:
  Slab& slab_;

 public:
  std::vector<Row> rows;
  std::vector<Cell> cells;             ///< empty in loaders without windows
  std::vector<CellPlace> places;       ///< of all cells
  std::vector<std::uint8_t> buffered;  ///< by output: 1 if ragged rows of this batch are buffered
  Clock::time_point begun{};           ///< when its slab became free; set by the scheduler
  Journey journey;                     ///< set by the thread that delivers

 private:
  std::uint64_t seed_ = 0, sequence_ = 0;
  std::atomic<std::uint64_t> generation_{0};  // relaxed: compared for equality only, ordered by remaining_
  std::atomic<std::uint32_t> remaining_{0};
  std::atomic<std::uint64_t> read_bytes_{0};  // relaxed: ordered by remaining_
  // Only for reports. Relaxed, because no thread orders other accesses by these states.
  std::unique_ptr<std::atomic<RowState>[]> states_;
  std::mutex mutex_;  // guards the rest while workers fill the batch
  std::exception_ptr failure_;
  std::uint32_t failed_row_ = 0;
  std::uint64_t failures_ = 0;
  std::vector<std::pair<std::uint32_t, BadSample>> bad_;
  std::vector<BrokenRow> broken_;
};

}  // namespace penstock
