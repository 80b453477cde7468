// Copies batches to a device ahead of the consumer, while the device works on earlier ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <base/queue.hpp>
#include <device/device.hpp>
#include <loader/batch/queued_stage.hpp>
#include <loader/batch/slab.hpp>
#include <loader/device/device_slab.hpp>

namespace penstock {

/// What a device does of batches itself; null: nothing of the kind.
struct DeviceTasks {
  DeviceReads* reads = nullptr;
  DeviceJpegs* jpegs = nullptr;
  /// The same batch, filled by the host alone: where the device finds a bad JPEG. Throws what filling it throws.
  std::function<BatchResult(const Batch&)> filled_by_host = {};
};

/// One thread enqueues copies on a stream of its own, and hands each batch on as soon as its copy is enqueued (and the
/// rows that the device reads itself are there): readers wait for it on the device. Another thread waits until copies
/// are over, and then gives the host's slabs back. Copies that are enqueued are bounded by the device's slabs, and by
/// the host's.
class DeviceCopy final : public QueuedStage {
 public:
  /// Batches of `before` lie in slabs of `host`.
  DeviceCopy(Stage& before, std::shared_ptr<SlabPool> host, std::shared_ptr<DevicePool> pool, unsigned ahead,
             DeviceTasks tasks);

  /// Waits until the copy is over.
  Batch apply(Batch batch) override;
  void go_to(const Position& position, std::uint64_t generation) override;
  void close() override;
  void start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) override;
  bool join(std::chrono::milliseconds grace) override;
  std::string level() const override;
  BatchPool& pool() override { return *pool_; }
  bool keeps_slabs() const override { return true; }
  void report(Stats& stats) const override;
  void reset_stats() override;

 private:
  struct InFlight {
    Batch host;
    std::unique_ptr<Event> begun = nullptr, copied = nullptr, ended = nullptr;
    std::uint64_t bytes = 0;
  };
  void run() override;  // what the first thread does, until close()
  void settle();        // what the second one does, until run() has ended and the last copy is over
  bool pass(BatchResult& result, std::uint64_t generation) override;
  /// A copy that failed after its batch was handed on is what the next one fails with.
  void give(BatchResult& result) override;
  void copy(BatchResult& result, DeviceSlab* slab, std::uint64_t generation);
  void fill(DeviceSlab& slab, InFlight& copy, std::vector<BadSample>& bad, const Stream& stream, StageClock& clock,
            const std::function<bool()>& cancelled);
  void await(InFlight& copy);
  void trace_copy(TraceSpan::Kind kind, const InFlight& copy, Clock::time_point began, nanoseconds took);
  std::unique_ptr<Event> event();

  const std::shared_ptr<SlabPool> host_;
  const std::shared_ptr<DevicePool> pool_;
  const DeviceTasks tasks_;
  const std::unique_ptr<Stream> stream_;
  Queue<InFlight> in_flight_;
  std::mutex mutex_;                            // guards the next two
  std::vector<std::unique_ptr<Event>> events_;  // not in use
  std::exception_ptr failure_;

  TimeSum crossing_;                             // of copies, without what the device does behind them
  std::atomic<std::uint64_t> crossed_bytes_{0};  // relaxed, as sums are
  std::unique_ptr<Thread> settle_thread_;
  std::vector<Thread> read_threads_;
};

}  // namespace penstock
