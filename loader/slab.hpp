// The memory behind a batch: one allocation for the fixed columns, a growing one for each ragged column, and the rows'
// names.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/batch.hpp>
#include <penstock/loader/memory.hpp>
#include <penstock/loader/stats.hpp>
#include <penstock/transforms/program.hpp>

namespace penstock {

/// A column whose rows differ in length. Rows of known length are written in place; the others are staged, each in its
/// own buffer, and gathered when all are there.
struct RaggedColumn {
  std::vector<std::int64_t> offsets;  ///< rows + 1, in items
  Memory arena;
  std::vector<std::vector<std::byte>> staged;
};

/// Written by the stages before delivery, one row by one worker; constant from then on until it is recycled.
class Slab {
 public:
  Slab(std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items);

  std::uint32_t capacity() const { return capacity_; }  ///< rows
  std::uint64_t bytes() const {
    return reserved_.load(std::memory_order_relaxed);
  }  ///< reserved; a report's figure, orders nothing

  /// Makes room for a batch of `rows` rows.
  void begin(std::uint64_t epoch, std::uint64_t number, std::uint32_t rows);
  std::span<std::byte> row(std::uint32_t output, std::uint32_t row);  ///< slot of a fixed output
  RaggedColumn& ragged(std::uint32_t output) { return ragged_[output]; }
  /// In-place ragged rows: fixes offsets from the items of each row and returns nothing until the arena holds them all.
  void set_items(std::uint32_t output, std::span<const std::uint64_t> items);
  std::span<std::byte> ragged_row(std::uint32_t output, std::uint32_t row);
  /// Gathers staged ragged rows and publishes fields(): after the last row is written, before delivery.
  void seal(std::span<const std::uint8_t> staged_outputs);

  std::uint64_t seed = 0, epoch = 0, number = 0;
  std::uint32_t rows = 0;
  std::vector<std::uint64_t> samples;
  std::vector<std::string_view> keys;
  std::vector<std::uint8_t> valid;
  std::vector<BadSample> bad;  ///< of rows that are not valid; set at delivery
  std::span<const Field> fields() const { return fields_; }
  std::uint64_t delivered_bytes() const;  ///< of all fields' values
  bool counted = false;                   ///< lent to the consumer; guarded by the pool

 private:
  std::span<const Output> outputs_;
  std::uint32_t capacity_;
  std::uint64_t max_items_;
  std::vector<std::uint64_t> column_;  ///< offset of each fixed output in memory_
  Memory memory_;
  std::vector<RaggedColumn> ragged_;
  std::vector<Field> fields_;
  std::atomic<std::uint64_t> reserved_{0};
};

/// A fixed number of slabs that go round: free, filling, ready, held by the consumer, free.
/// Held batches keep the pool alive, so it may outlive its loader.
class SlabPool {
 public:
  /// Keeps the outputs and the dataset: batches refer to their names and keys for as long as the pool lives.
  SlabPool(Dataset dataset, std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items,
           unsigned slabs);

  /// Waits for a free slab; null when stopped, or once `cancelled` is true (looked at on every wake()).
  template <typename Cancelled>
  Slab* acquire(std::stop_token stop, Cancelled cancelled) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, stop, [&] { return !free_.empty() || cancelled(); });
    if (stop.stop_requested() || cancelled() || free_.empty()) return nullptr;
    Slab* slab = free_.back();
    free_.pop_back();
    return slab;
  }
  void release(Slab* slab);
  void wake();

  enum class To : std::uint8_t { consumer, stage };
  /// Turns a delivered slab into what the consumer holds; it comes back when the last copy dies. One lent to a stage
  /// on the way is not in the consumer's hands before hand_over().
  static std::shared_ptr<const Slab> lend(const std::shared_ptr<SlabPool>& pool, Slab* slab, To to = To::consumer);
  void hand_over(const Slab* slab);
  unsigned lent() const;  ///< in the consumer's hands
  std::size_t free_slabs() const;
  std::uint64_t bytes() const;
  std::size_t size() const { return slabs_.size(); }
  Slab& slab(std::size_t number) { return *slabs_[number]; }
  std::size_t number_of(const Slab* slab) const;

 private:
  Dataset dataset_;
  std::vector<Output> outputs_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  mutable std::mutex mutex_;  // guards free_, lent_ and the slabs' counted
  std::condition_variable_any freed_;
  std::vector<Slab*> free_;
  unsigned lent_ = 0;
};

}  // namespace penstock
