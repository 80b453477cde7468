// A batch while it is built: its slab and rows, the state of each row, and the failures so far.
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

/// One place of a batch that a sample fills: a row of the outputs that are no window's, or a step of a row of a window.
struct CellPlace {
  std::uint32_t window, row, step;
};

/// Of a loader with windows: a sample of the batch, and all places that it fills. It is read once for them.
struct Cell {
  std::uint64_t sample;
  std::string_view key;
  std::uint32_t first, count;  ///< of BatchBuilder::places, by rising window
};

/// A row that is to be marked or replaced once all cells are done.
struct BrokenRow {
  CellPlace place;  ///< the first that failed
  std::uint64_t sample;
  Error error;
};

/// One per slab, recycled with it.
class BatchBuilder {
 public:
  enum class RowState : std::uint8_t { planned, reading, queued, decoding, done };

  /// `cells_of_row`: at most, of a loader with windows.
  BatchBuilder(Slab& slab, std::size_t outputs, std::uint64_t cells_of_row = 1)
      : slab_(slab),
        buffered(outputs, 0),
        states_(std::make_unique<std::atomic<RowState>[]>(slab.capacity() * cells_of_row)) {}

  /// A new batch: `rows` says which samples it has. Called by the scheduler alone, before any worker.
  void begin(std::uint64_t seed, std::uint64_t generation, std::uint64_t sequence);
  /// As it begins: of the rows that were sent and queued by then.
  Journey journey_of(Clock::time_point sent, Clock::time_point queued) const;
  /// What is filled one by one, and what the tasks, states and finish_rows() count: cells where there are any, else
  /// rows.
  std::uint32_t units() const { return static_cast<std::uint32_t>(cells.empty() ? rows.size() : cells.size()); }
  std::uint32_t row_of(std::uint32_t unit) const { return cells.empty() ? unit : places[cells[unit].first].row; }
  std::span<const CellPlace> places_of(const Cell& cell) const {
    return std::span(places).subspan(cell.first, cell.count);
  }
  /// So many rows more are finished; true for the last ones, whose worker then seals the slab and delivers.
  bool finish_rows(std::uint32_t count);
  /// So many stored bytes were asked for, for these rows.
  void add_read(std::uint64_t bytes) { read_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  std::uint64_t read_bytes() const { return read_bytes_.load(std::memory_order_relaxed); }
  void set_state(std::uint32_t row, RowState state) { states_[row].store(state, std::memory_order_relaxed); }

  /// Keeps the failure of the first row in plan order, and counts the others.
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
  /// For the dump of a timeout: the rows that are not done, with key and state; the first few by name.
  /// `key_of` names a planned row.
  std::string describe(const std::function<std::string_view(const Row&)>& key_of) const;
  /// True between begin() and the last finish_rows(): the rows are constant then.
  bool in_progress() const { return remaining_.load(std::memory_order_acquire) != 0; }

 private:
  Slab& slab_;

 public:
  std::vector<Row> rows;
  std::vector<Cell> cells;             ///< of a loader with windows; else empty
  std::vector<CellPlace> places;       ///< of all cells
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
  std::vector<BrokenRow> broken_;
};

}  // namespace penstock
