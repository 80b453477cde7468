// The memory of a batch: a part of one reservation for the fixed columns, a growing arena for each ragged column, and
// the rows' names.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// A column whose rows differ in length. Rows of known length are written in place. Each other row has a buffer, and
/// seal() gathers the buffers once all rows are there.
struct RaggedColumn {
  std::vector<std::int64_t> offsets;  ///< rows + 1, in items
  PinnedMemory arena;
  std::vector<std::vector<std::byte>> buffered;
  std::vector<std::int64_t> shapes;  ///< rows x dimensions, for rows that have shapes
};

/// Offsets of a batch's fixed columns in one piece of memory. The host and the device use the same layout.
struct SlabLayout {
  SlabLayout(std::span<const Output> outputs, std::uint32_t batch_size, DeviceShare share = {});
  static std::uint64_t aligned(std::uint64_t bytes);  ///< rounded up to the alignment of columns
  /// Bytes up to the end of the last row to copy, in a batch of `rows` rows.
  std::uint64_t used(std::span<const Output> outputs, std::uint32_t rows) const;

  DeviceShare share;
  std::vector<std::uint64_t> column;  ///< offset of each fixed output
  /// With the table: offset of each ragged output's `rows + 1` int64; the samples are at 0.
  std::vector<std::uint64_t> begins;
  std::uint64_t first_column = 0;  ///< after the table
  /// Offset of the columns that a device reads: after all others, at a page boundary.
  std::uint64_t direct_columns = 0;
  std::uint64_t bytes = 0;
};

/// The stages before delivery write it, each row in one worker. From delivery until it is recycled, it is constant.
class Slab : public BatchRecord {
 public:
  /// Makes a slab without memory; adopt() must come first. `pinning` must outlive the slab.
  Slab(std::span<const Output> outputs, const SlabLayout& layout, PagePinning& pinning, std::uint32_t batch_size,
       std::uint64_t max_items);
  /// Uses `memory`, which must outlive the slab, for the fixed columns. Throws Error: resource, if there is no memory
  /// for the ragged columns.
  void adopt(std::byte* memory);

  std::uint32_t capacity() const { return capacity_; }  ///< rows
  std::uint64_t bytes() const {
    return reserved_.load(std::memory_order_relaxed);
  }  ///< reserved; only for reports: orders nothing

  /// Makes room for a batch of `rows` rows. Throws Error: resource, if the system refuses memory of a region.
  void begin(std::uint64_t epoch, std::uint64_t number, std::uint32_t rows);
  std::span<std::byte> row(std::uint32_t output, std::uint32_t row);  ///< slot in a fixed output
  Offload* offload() const { return offload_.get(); }                 ///< null: workers fill all rows
  RaggedColumn& ragged(std::uint32_t output) { return ragged_[output]; }
  /// Sets the offsets of in-place ragged rows from the items of each row. Throws unless the arena can hold them all.
  void set_items(std::uint32_t output, std::span<const std::uint64_t> items);
  std::span<std::byte> ragged_row(std::uint32_t output, std::uint32_t row);
  const std::byte* columns() const { return memory_; }  ///< all fixed outputs and the table, laid out as in SlabLayout
  /// Gathers buffered ragged rows and publishes the fields. Called after the last row is written and before delivery.
  void seal(std::span<const std::uint8_t> buffered_outputs);
  /// Makes room for the values of an output that another process has built, and returns it. `built` has their shape,
  /// and the offsets and shapes of ragged rows. Throws Error: corrupt, if the output of a batch with this slab's rows
  /// cannot have them; resource. After all outputs, seal() with no buffered output publishes the fields.
  std::span<std::byte> place(std::uint32_t output, const Field& built);

  bool counted = false;                              ///< held by the consumer; guarded by the pool
  std::chrono::steady_clock::time_point released{};  ///< when it became free; guarded by the pool

 private:
  void write_table();
  void reserve(std::uint32_t output, std::uint64_t items);
  void gather(std::uint32_t output);
  std::int64_t pad(std::uint32_t output);
  std::int64_t padded_items(std::uint32_t output) const;

  std::span<const Output> outputs_;
  std::uint32_t capacity_;
  std::uint64_t max_items_;
  const SlabLayout& layout_;
  std::byte* memory_ = nullptr;
  PagePinning& pinning_;
  std::vector<RaggedColumn> ragged_;
  const std::unique_ptr<Offload> offload_;
  bool provided_ = false;  // its memory, if it is in a region
  std::atomic<std::uint64_t> reserved_{0};
};

/// Slabs circulate: free, filling, ready, held by the consumer, free. Only allow_held() and grow() add slabs. Held
/// batches keep the pool alive, so the pool may outlive its loader.
class SlabPool final : public BatchPool {
 public:
  /// Keeps the outputs and the dataset, because batches refer to their names and keys as long as the pool lives. The
  /// pool reserves `held` slabs for the consumer: it keeps as many free as the consumer may still take. Their memory
  /// is not touched before. If there is a device, memory is page-locked for it. `more` slabs have no memory until
  /// allow_held() or grow(). With `regions`, other processes can map the memory.
  SlabPool(Dataset dataset, std::span<const Output> outputs, std::uint32_t batch_size, std::uint64_t max_items,
           unsigned slabs, unsigned held = 0, std::shared_ptr<Device> device = nullptr, DeviceShare share = {},
           unsigned more = 0, std::shared_ptr<SharedRegions> regions = nullptr);

  /// Limits the slabs that are filling or ready. Otherwise the size of the pool is their limit. Call it before
  /// acquire().
  void limit_ahead(unsigned slabs) { most_ahead_ = slabs; }
  void allow_held(unsigned held) override;
  /// Adds memory for `slabs` more slabs, as far as the constructor made them. Thread-safe. Throws Error: resource; the
  /// slabs added before remain.
  void grow(unsigned slabs);

  /// Waits for a free slab that is not reserved for the consumer. Returns null once stopped or once `cancelled`
  /// returns true. Each wake() checks `cancelled`.
  template <typename Cancelled>
  Slab* acquire(std::stop_token stop, Cancelled cancelled) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, stop, [&] { return has_spare() || cancelled(); });
    if (stop.stop_requested() || cancelled() || !has_spare()) return nullptr;
    Slab* slab = free_.back();
    free_.pop_back();
    ++ahead_;
    return slab;
  }
  void release(Slab* slab);
  void wake();

  enum class To : std::uint8_t { consumer, stage };
  /// Lends a delivered slab. The slab returns to the pool when the last copy dies. A slab lent to a stage counts as
  /// the consumer's only after hand_over().
  static std::shared_ptr<const BatchRecord> lend(const std::shared_ptr<SlabPool>& pool, Slab* slab,
                                                 To to = To::consumer);
  void hand_over(const BatchRecord* slab) override;
  unsigned lent() const override;
  std::size_t free_slabs() const;
  std::uint64_t bytes() const;
  std::uint64_t bytes_to_add() const override;
  std::string staging() const { return pinning_.description(); }  ///< for the stats
  std::size_t size() const { return slabs_.size(); }              ///< including those that allow_held() may still add
  std::size_t made() const;                                       ///< without those
  Slab& slab(std::size_t number) { return *slabs_[number]; }
  std::size_t number_of(const BatchRecord* slab) const;

 private:
  bool add_slab();
  bool has_spare() const { return ahead_ < most_ahead_ && free_.size() > (held_ > lent_ ? held_ - lent_ : 0); }

  Dataset dataset_;
  std::vector<Output> outputs_;
  const SlabLayout layout_;
  PagePinning pinning_;
  PinnedMemory memory_;              // the fixed columns of all slabs that exist from the start
  std::mutex adding_;                // guards added_; only its holder adds slabs
  std::vector<PinnedMemory> added_;  // of each slab that was added
  std::vector<std::unique_ptr<Slab>> slabs_;
  mutable std::mutex mutex_;  // guards free_, held_, made_, lent_, ahead_ and `counted` of the slabs
  std::condition_variable_any freed_;
  std::vector<Slab*> free_;
  unsigned held_;
  std::size_t made_ = 0;
  unsigned ahead_ = 0, most_ahead_ = std::numeric_limits<unsigned>::max();
  std::uint64_t slab_bytes_ = 0;  // of one slab, at the start
  unsigned lent_ = 0;
};

}  // namespace penstock
