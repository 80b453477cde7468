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

/// The device's own work on batches; null: none of that kind.
struct DeviceTasks {
  DeviceReads* reads = nullptr;
  DeviceJpegs* jpegs = nullptr;
  /// Fills the same batch on the host only. Used if the device finds an invalid JPEG. Throws what filling throws.
  std::function<BatchResult(const Batch&)> filled_by_host = {};
};

/// One thread enqueues copies in a separate stream. It passes a batch on as soon as the copy is enqueued and the rows
/// that the device reads have arrived. Readers wait for the copy on the device. A second thread waits for the end of
/// copies and then releases the host's slabs. The slabs of device and host bound the number of enqueued copies.
class DeviceCopy final : public QueuedStage {
 public:
  /// `host` is the pool of `before`'s batches.
  DeviceCopy(Stage& before, std::shared_ptr<SlabPool> host, std::shared_ptr<DevicePool> pool, unsigned ahead,
             DeviceTasks tasks);

  /// Waits until the copy has ended.
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
  void run() override;  // the first thread's main function, until close()
  void settle();        // the second thread's main function, until run() and the last copy have ended
  bool pass(BatchResult& result, std::uint64_t generation) override;
  /// Throws the failure of an earlier copy that ended after its batch was passed on.
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
  std::mutex mutex_;                            // guards events_ and failure_
  std::vector<std::unique_ptr<Event>> events_;  // free events
  std::exception_ptr failure_;

  TimeSum crossing_;                             // duration of copies, without the device's work after them
  std::atomic<std::uint64_t> crossed_bytes_{0};  // relaxed, because a sum orders nothing
  std::unique_ptr<Thread> settle_thread_;
  std::vector<Thread> read_threads_;
};

}  // namespace penstock
