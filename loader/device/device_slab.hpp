// A batch's memory on a device. Its keys and other records stay on the host.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/device_use.hpp>
#include <device/file_reads.hpp>
#include <device/passes.hpp>
#include <loader/batch/batch_record.hpp>
#include <loader/batch/slab.hpp>
#include <loader/device/device_jpegs.hpp>
#include <loader/device/device_reads.hpp>
#include <penstock/dataset.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// An output of the reader, and the pass that makes it of the copied values. Without a pass, it is copied unchanged.
struct DeviceOutput {
  Output output;
  /// The pass without pointers, the batch's sizes, and the key.
  std::variant<std::monostate, ImagePass, PointPass> pass = {};

  bool in_place() const;  ///< whether the reader gets the memory of the copy
};

/// Returns true if a pass uses the rows' samples or the offsets of ragged rows.
bool wants_row_table(std::span<const DeviceOutput> outputs);

/// Properties common to all batches of a loader on a device. Batches refer to its keys and names.
struct DeviceBatches {
  std::shared_ptr<Device> device;
  Dataset dataset;
  std::vector<Output> copied;         ///< in the form of the host's slabs
  std::vector<DeviceOutput> outputs;  ///< in the reader's form, in the same order
  std::uint32_t batch_size;
  std::uint64_t max_items;
  DeviceShare share;
  std::shared_ptr<FileReads> files;  ///< for columns that the device reads; null without any
};

/// Has the layout of the host's slab, so that one copy brings all fixed columns. After them are the columns that
/// passes make. Columns that the device reads have a separate allocation, which storage may write to.
class DeviceSlab {
 public:
  explicit DeviceSlab(const DeviceBatches& batches);  ///< must outlive the slab

  /// Blocks until all readers of this memory have finished. Required before read(), which no stream orders.
  void await_readers(StreamHandle stream, Event& begun);
  /// Reads the rows of the device's share and returns when they have arrived. Call it before fill(). Throws what
  /// `reads` throws.
  void read(const Slab& host, DeviceReads& reads, const std::function<bool()>& cancelled);
  /// Enqueues all work that makes a batch of `host`, whose memory must stay valid until the stream has done it.
  /// Records `begun` where the copy may begin, after all readers of this memory. Records `copied` after all copies,
  /// before decoding and passes. Returns the number of bytes to copy. Throws what `jpegs` throws; it may then be
  /// called again.
  std::uint64_t fill(const Slab& host, DeviceJpegs* jpegs, StreamHandle stream, Event& begun, Event& copied);

  const BatchRecord& record() const { return record_; }
  DeviceUse& use() { return use_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  ///< only for reports: orders nothing
  bool counted = false;  ///< held by the consumer; guarded by the pool

 private:
  void describe(const Slab& host);
  /// Copies rows that read() left out, in the columns it fills.
  std::uint64_t copy_rows(const Slab& host, StreamHandle stream);
  std::uint64_t copy_jpeg_tables(const Slab& host, StreamHandle stream);
  void decode(const Slab& host, DeviceJpegs& jpegs, StreamHandle stream);
  void make_room(std::size_t output, std::uint64_t copied);
  void make_room(DeviceMemory& memory, std::uint64_t bytes);
  void run_passes(StreamHandle stream);
  void run(ImagePass pass, std::size_t output, StreamHandle stream);
  void run(PointPass pass, std::size_t output, StreamHandle stream);
  std::byte* copied(std::size_t output) const;  ///< destination of an output's copied values

  const std::shared_ptr<Device>& device_;
  const std::span<const Output> copied_;
  const std::span<const DeviceOutput> outputs_;
  const SlabLayout layout_;
  std::vector<std::uint64_t> made_;  ///< offset of the column that each pass makes
  DeviceMemory memory_, direct_, jpeg_tables_;
  FileAttachment attachment_;  // declared after the memory, so that it ends first
  std::vector<DeviceRow> rows_;
  std::vector<DeviceMemory> arenas_;  ///< by output, for ragged outputs; the results of passes follow the copied values
  std::vector<std::vector<std::int64_t>> offsets_;
  std::vector<std::vector<std::int64_t>> shapes_;  // by output: the shapes of rows that have shapes
  BatchRecord record_;
  std::atomic<std::uint64_t> bytes_{0};
  DeviceUse use_;  // declared last: its destructor waits for all users of the memory
};

/// Device slabs circulate: free, being copied to, ready, held by the consumer, free. Only allow_held() adds slabs.
/// Held batches keep the pool and the device alive.
class DevicePool final : public BatchPool {
 public:
  explicit DevicePool(DeviceBatches batches, unsigned slabs = 1, unsigned held = 0, unsigned more = 0);

  Device& device() const { return *batches_.device; }
  /// Adds at most `more` slabs.
  void allow_held(unsigned held) override;
  /// Makes a pool with the same properties and one slab.
  std::shared_ptr<DevicePool> single() const { return std::make_shared<DevicePool>(batches_); }

  /// Waits for a free slab. Returns null once `cancelled` returns true. Each wake() checks `cancelled`.
  template <typename Cancelled>
  DeviceSlab* acquire(Cancelled cancelled) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !free_.empty() || cancelled(); });
    if (cancelled()) return nullptr;
    DeviceSlab* slab = free_.front();
    free_.erase(free_.begin());
    return slab;
  }
  void wake();

  /// Lends a slab as the memory of a batch. The slab returns to the pool when the last copy dies. It counts as the
  /// consumer's after hand_over().
  static std::shared_ptr<const BatchRecord> lend(const std::shared_ptr<DevicePool>& pool, DeviceSlab* slab);
  void hand_over(const BatchRecord* record) override;
  unsigned lent() const override;
  std::uint64_t bytes() const;
  std::uint64_t bytes_to_add() const override;
  std::size_t size() const;

 private:
  void give_back(DeviceSlab* slab) noexcept;

  const DeviceBatches batches_;
  std::vector<std::unique_ptr<DeviceSlab>> slabs_;
  std::uint64_t slab_bytes_ = 0;  // of one slab, at the start
  mutable std::mutex mutex_;      // guards slabs_, held_, more_, free_, lent_ and `counted` of the slabs
  unsigned held_, more_;
  std::condition_variable freed_;
  // The slab released first is reused first. Copies are in order, so a slab with a late reader would delay all later
  // copies.
  std::vector<DeviceSlab*> free_;  // has capacity for all slabs: returning one never allocates
  unsigned lent_ = 0;
};

}  // namespace penstock
