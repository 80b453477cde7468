// Tells when some memory of a device may be read, and when it may be written again.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <device/device.hpp>
#include <penstock/device.hpp>

namespace penstock {

/// The memory goes round: written by one stream, read by whatever streams its reader names, written again. Each
/// hand-over is an event that the next stream waits for on the device; no thread of the host waits.
///
///   writer   begin_write(s)   s waits for the readers of the time before     ... enqueue ...   written(s)
///   reader   wait(t)          t waits for what was written                   ... enqueue ...   released()
///
/// A writer and a reader never have the memory at once; several threads may read. A stream that was named must exist
/// until released().
class DeviceUse {
 public:
  explicit DeviceUse(std::shared_ptr<Device> device);
  ~DeviceUse();  ///< finish()
  DeviceUse(DeviceUse&&) = delete;

  Device& device() const { return *device_; }

  void begin_write(StreamHandle writer);
  void written(StreamHandle writer);

  /// What enters `stream` from now on sees what was written, and counts as a use until released().
  void wait(StreamHandle stream);
  /// Only counts: for a stream that is ordered behind another that waited.
  void record_stream(StreamHandle stream);
  /// Blocks this thread until what was written is there. Throws Error: resource, when writing it failed.
  void synchronize() const { ready_->wait(); }
  bool ready() const { return ready_->done(); }

  /// Blocks this thread until nobody writes or reads: before the memory ends. Quiet about failures.
  void finish() noexcept;

  /// The reader is through, as far as the host goes: each stream that it named is remembered where it is now. A reader
  /// that named none may have used the default stream; `read` false says that there was no reader.
  void released(bool read = true) noexcept;

 private:
  struct Reader {
    StreamHandle stream;
    std::unique_ptr<Event> left;
  };
  void add(StreamHandle stream);

  const std::shared_ptr<Device> device_;
  std::unique_ptr<Event> ready_;
  std::mutex mutex_;                            // guards the rest
  std::vector<StreamHandle> streams_;           // of the present reader
  std::vector<Reader> readers_;                 // of the last one
  std::vector<std::unique_ptr<Event>> events_;  // not in use
};

}  // namespace penstock
