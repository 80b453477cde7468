// The memory behind a batch: a part of one reservation for the fixed columns, a growing one for each ragged column, and
// the rows' names.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <device/device.hpp>
#include <loader/batch/batch_pool.hpp>
#include <loader/batch/batch_record.hpp>
#include <loader/batch/device_share.hpp>
#include <loader/batch/page_pinning.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// A column whose rows differ in length. Rows of known length are written in place; the others are buffered, each in
/// its own buffer, and gathered when all are there.
struct RaggedColumn {
  std::vector<std::int64_t> offsets;  ///< rows + 1, in items
  PinnedMemory arena;
  std::vector<std::vector<std::byte>> buffered;
  std::vector<std::int64_t> shapes;  ///< rows x dimensions, of rows with sizes of their own
};

/// Where the fixed columns of a batch lie in one stretch of memory, on the host and on a device alike.
struct SlabLayout {
  SlabLayout(std::span<const Output> outputs, std::uint32_t batch_size, DeviceShare share = {});
  static std::uint64_t aligned(std::uint64_t bytes);  ///< to what columns begin at
  /// Up to the end of the last row to copy, of a batch of `rows` rows.
  std::uint64_t used(std::span<const Output> outputs, std::uint32_t rows) const;

  DeviceShare share;
  std::vector<std::uint64_t> column;  ///< offset of each fixed output
  std::vector<std::uint64_t> begins;  ///< with the table: of each ragged output's `rows + 1` int64; samples lie at 0
  std::uint64_t first_column = 0;     ///< behind the table
  std::uint64_t direct_columns = 0;   ///< where those begin that a device reads: behind all others, on a page
  std::uint64_t bytes = 0;
};

/// Written by the stages before delivery, one row by one worker; constant from then on until it is recycled.
class Slab : public BatchRecord {
 public:
  /// Without memory: adopt() comes before anything else. `pinning` outlives the slab.
  Slab(std::span<const Output> outputs, const SlabLayout& layout, PagePinning& pinning, std::uint32_t batch_size,
       std::uint64_t max_items);
  /// `memory` is for the fixed columns and outlives the slab. Throws Error: resource, when there is none for the ragged
  /// ones.
  void adopt(std::byte* memory);

  std::uint32_t capacity() const { return capacity_; }  ///< rows
  std::uint64_t bytes() const {
    return reserved_.load(std::memory_order_relaxed);
  }  ///< reserved; a report's figure, orders nothing

  /// Makes room for a batch of `rows` rows.
  void begin(std::uint64_t epoch, std::uint64_t number, std::uint32_t rows);
  std::span<std::byte> row(std::uint32_t output, std::uint32_t row);  ///< slot of a fixed output
  Offload* offload() const { return offload_.get(); }                 ///< null: all rows are in their slots
  RaggedColumn& ragged(std::uint32_t output) { return ragged_[output]; }
  /// In-place ragged rows: fixes offsets from the items of each row and returns nothing until the arena holds them all.
  void set_items(std::uint32_t output, std::span<const std::uint64_t> items);
  std::span<std::byte> ragged_row(std::uint32_t output, std::uint32_t row);
  const std::byte* columns() const { return memory_; }  ///< all fixed outputs and the table, as SlabLayout says
  /// Gathers buffered ragged rows and publishes fields: after the last row is written, before delivery.
  void seal(std::span<const std::uint8_t> buffered_outputs);

  bool counted = false;                              ///< lent to the consumer; guarded by the pool
  std::chrono::steady_clock::time_point released{};  ///< when it became free; guarded by the pool

 private:
  void write_table();
  void reserve(std::uint32_t output, std::uint64_t items);
  void gather(std::uint32_t output);
  std::int64_t pad(std::uint32_t output);

  std::span<const Output> outputs_;
  std::uint32_t capacity_;
  std::uint64_t max_items_;
  const SlabLayout& layout_;
  std::byte* memory_ = nullptr;
  PagePinning& pinning_;
  std::vector<RaggedColumn> ragged_;
  const std::unique_ptr<Offload> offload_;
  std::atomic<std::uint64_t> reserved_{0};
};

/// Slabs that go round: free, filling, ready, held by the consumer, free. Their number is fixed but for those that
/// allow_held() adds. Held batches keep the pool alive, so it may outlive its loader.
class SlabPool final : public BatchPool {
 public:
  /// Keeps the outputs and the dataset: batches refer to their names and keys for as long as the pool lives. `held` of
  /// the slabs are the consumer's: as many as it does not hold stay free, and their memory is not touched before it
  /// does. Memory is page-locked for `device`, where there is one. `more` slabs have no memory before allow_held().
  SlabPool(Dataset dataset, std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items,
           unsigned slabs, unsigned held = 0, std::shared_ptr<Device> device = nullptr, DeviceShare share = {},
           unsigned more = 0);

  void allow_held(unsigned held) override;

  /// Waits for a free slab that is not kept for the consumer; null when stopped, or once `cancelled` is true (looked at
  /// on every wake()).
  template <typename Cancelled>
  Slab* acquire(std::stop_token stop, Cancelled cancelled) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, stop, [&] { return has_spare() || cancelled(); });
    if (stop.stop_requested() || cancelled() || !has_spare()) return nullptr;
    Slab* slab = free_.back();
    free_.pop_back();
    return slab;
  }
  void release(Slab* slab);
  void wake();

  enum class To : std::uint8_t { consumer, stage };
  /// Turns a delivered slab into what the consumer holds; it comes back when the last copy dies. One lent to a stage
  /// on the way is not in the consumer's hands before hand_over().
  static std::shared_ptr<const BatchRecord> lend(const std::shared_ptr<SlabPool>& pool, Slab* slab,
                                                 To to = To::consumer);
  void hand_over(const BatchRecord* slab) override;
  unsigned lent() const override;
  std::size_t free_slabs() const;
  std::uint64_t bytes() const;
  std::uint64_t bytes_to_add() const override;
  std::string staging() const { return pinning_.description(); }  ///< for the stats
  std::size_t size() const { return slabs_.size(); }              ///< with those that allow_held() may still add
  std::size_t made() const;                                       ///< without them
  Slab& slab(std::size_t number) { return *slabs_[number]; }
  std::size_t number_of(const BatchRecord* slab) const;

 private:
  bool has_spare() const { return free_.size() > (held_ > lent_ ? held_ - lent_ : 0); }

  Dataset dataset_;
  std::vector<Output> outputs_;
  const SlabLayout layout_;
  PagePinning pinning_;
  PinnedMemory memory_;              // the fixed columns of all slabs that there are from the start
  std::vector<PinnedMemory> added_;  // of each one that was added; touched by allow_held() alone
  std::vector<std::unique_ptr<Slab>> slabs_;
  mutable std::mutex mutex_;  // guards free_, held_, made_, lent_ and the slabs' counted
  std::condition_variable_any freed_;
  std::vector<Slab*> free_;
  unsigned held_;
  std::size_t made_ = 0;
  std::uint64_t slab_bytes_ = 0;  // of one, at first
  unsigned lent_ = 0;
};

}  // namespace penstock
