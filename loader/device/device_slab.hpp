// The memory of a batch on a device. Its keys and other records stay on the host.
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

/// An output as the reader gets it, and the pass that makes it of what was copied; without one it is copied as it is.
struct DeviceOutput {
  Output output;
  std::variant<std::monostate, ImagePass, PointPass> pass = {};  ///< without pointers, sizes of the batch, and key

  bool in_place() const;  ///< whether the reader gets the memory that was copied to
};

/// Whether passes look at the rows' samples or at where ragged rows begin.
bool wants_row_table(std::span<const DeviceOutput> outputs);

/// What all batches of a loader on a device have in common. Batches refer to its keys and names.
struct DeviceBatches {
  std::shared_ptr<Device> device;
  Dataset dataset;
  std::vector<Output> copied;         ///< as slabs of the host hold them
  std::vector<DeviceOutput> outputs;  ///< as the reader gets them, in the same order
  std::uint32_t batch_size;
  std::uint64_t max_items;
  DeviceShare share;
  std::shared_ptr<FileReads> files;  ///< of columns that the device reads itself; null without
};

/// Laid out as the host's slab, so that one copy brings all fixed columns; behind them the columns that passes make.
/// Columns that the device reads itself are an allocation of their own, which storage may write to.
class DeviceSlab {
 public:
  explicit DeviceSlab(const DeviceBatches& batches);  ///< which outlive it

  /// Blocks until nobody reads this memory any more: before read(), which is in no stream that could wait for it.
  void await_readers(StreamHandle stream, Event& begun);
  /// Brings the rows that are the device's share, and returns when they are there: before fill(). Throws what `reads`
  /// throws.
  void read(const Slab& host, DeviceReads& reads, const std::function<bool()>& cancelled);
  /// Enqueues everything that makes a batch of `host`, whose memory must stay until the stream has come by; `begun` is
  /// recorded where the copy may begin, because nobody reads this memory any more, and `copied` behind all copies,
  /// before decoding and passes. Returns bytes to copy. Throws what `jpegs` throws, and may then be called again.
  std::uint64_t fill(const Slab& host, DeviceJpegs* jpegs, StreamHandle stream, Event& begun, Event& copied);

  const BatchRecord& record() const { return record_; }
  DeviceUse& use() { return use_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  ///< a report's figure, orders nothing
  bool counted = false;  ///< lent to the consumer; guarded by the pool

 private:
  void describe(const Slab& host);
  std::uint64_t copy_rows(const Slab& host, StreamHandle stream);  ///< that read() left out, of the columns it fills
  std::uint64_t copy_jpeg_tables(const Slab& host, StreamHandle stream);
  void decode(const Slab& host, DeviceJpegs& jpegs, StreamHandle stream);
  void make_room(std::size_t output, std::uint64_t copied);
  void make_room(DeviceMemory& memory, std::uint64_t bytes);
  void run_passes(StreamHandle stream);
  void run(ImagePass pass, std::size_t output, StreamHandle stream);
  void run(PointPass pass, std::size_t output, StreamHandle stream);
  std::byte* copied(std::size_t output) const;  ///< where an output's values are copied to

  const std::shared_ptr<Device>& device_;
  const std::span<const Output> copied_;
  const std::span<const DeviceOutput> outputs_;
  const SlabLayout layout_;
  std::vector<std::uint64_t> made_;  ///< offset of each pass's column
  DeviceMemory memory_, direct_, jpeg_tables_;
  FileAttachment attachment_;  // ends before what it attaches
  std::vector<DeviceRow> rows_;
  std::vector<DeviceMemory> arenas_;  ///< by output; of ragged ones, with what passes make of them behind
  std::vector<std::vector<std::int64_t>> offsets_;
  std::vector<std::vector<std::int64_t>> shapes_;  // by output: the sizes of rows that have their own
  BatchRecord record_;
  std::atomic<std::uint64_t> bytes_{0};
  DeviceUse use_;  // ends first: it waits for whoever uses the memory
};

/// They go round: free, being copied to, ready, held by the consumer, free. Their number is fixed but for those that
/// allow_held() adds. Held batches keep the pool and the device alive.
class DevicePool final : public BatchPool {
 public:
  explicit DevicePool(DeviceBatches batches, unsigned slabs = 1, unsigned held = 0, unsigned more = 0);

  Device& device() const { return *batches_.device; }
  /// Adds up to `more`.
  void allow_held(unsigned held) override;
  /// Another such pool, of one.
  std::shared_ptr<DevicePool> single() const { return std::make_shared<DevicePool>(batches_); }

  /// Waits for a free one; null once `cancelled` is true (looked at on every wake()).
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

  /// What a batch holds; the memory comes back when the last copy dies. Counts as the consumer's from hand_over() on.
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
  std::uint64_t slab_bytes_ = 0;  // of one, at first
  mutable std::mutex mutex_;      // guards slabs_, held_, more_, free_, lent_ and the slabs' counted
  unsigned held_, more_;
  std::condition_variable freed_;
  // The one let go longest ago comes first: copies are in order, and one that waits for the latest reader holds up all.
  std::vector<DeviceSlab*> free_;  // has room for all slabs: giving one back needs no memory
  unsigned lent_ = 0;
};

}  // namespace penstock
