// Copies batches to a device ahead of the consumer, while the device works on earlier ones.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <penstock/base/queue.hpp>
#include <penstock/loader/batch/result_queue.hpp>
#include <penstock/loader/batch/slab.hpp>
#include <penstock/loader/device/device_slab.hpp>
#include <penstock/loader/time/stage_clock.hpp>

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
class DeviceCopy {
 public:
  /// The next batch of a generation, in order; nothing once that has passed.
  using Source = std::function<std::optional<BatchResult>(std::uint64_t generation, std::uint64_t sequence)>;

  DeviceCopy(std::shared_ptr<DevicePool> pool, std::shared_ptr<SlabPool> host, Source source, unsigned ahead,
             StageClocks& clocks, DeviceTasks tasks);

  void run();                         ///< what the first thread does, until close()
  void settle();                      ///< what the second one does, until run() has ended and the last copy is over
  void end() { in_flight_.close(); }  ///< for settle(), where run() will never be called

  /// The next batch; nothing after `timeout` (0 waits for ever), or once closed. A copy that failed after its batch was
  /// handed on is what the next one fails with.
  std::optional<BatchResult> take(std::chrono::milliseconds timeout);
  /// Discards what is ready; batches come from that generation of the source, which has begun.
  void go_to(std::uint64_t generation);
  void close();
  void fail(const std::exception_ptr& failure) noexcept { queue_.fail(failure); }  ///< what take() throws from now on
  std::size_t ready() const { return queue_.ready(); }

  /// As the stage would, in the calling thread, which waits until the copy is over.
  static Batch copied(const std::shared_ptr<DevicePool>& pool, const Batch& batch, const DeviceTasks& tasks);

 private:
  struct InFlight {
    Batch host;
    std::unique_ptr<Event> begun = nullptr, copied = nullptr, ended = nullptr;
    std::uint64_t bytes = 0;
  };
  bool advance(std::uint64_t generation, std::uint64_t sequence);
  void copy(BatchResult& result, DeviceSlab* slab, std::uint64_t generation);
  void await(InFlight& copy);
  std::unique_ptr<Event> event();

  const std::shared_ptr<DevicePool> pool_;
  const std::shared_ptr<SlabPool> host_;
  const Source source_;
  StageClocks& clocks_;
  const DeviceTasks tasks_;
  const std::unique_ptr<Stream> stream_;
  ResultQueue queue_;
  Queue<InFlight> in_flight_;
  std::mutex mutex_;                            // guards the rest
  std::vector<std::unique_ptr<Event>> events_;  // not in use
  std::exception_ptr failure_;
};

}  // namespace penstock
