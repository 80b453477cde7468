// Orders reads and writes of device memory between streams.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <device/device.hpp>
#include <penstock/device.hpp>

namespace penstock {

/// The memory is used in turns: one stream writes it, the streams that its reader names read it, and it is written
/// again. Each hand-over is an event that the next stream waits for on the device; no host thread waits.
///
///   writer   begin_write(s)   s waits for the previous readers     ... enqueue ...   written(s)
///   reader   wait(t)          t waits for the written data         ... enqueue ...   released()
///
/// Invariant: a writer and a reader never use the memory at once. Several threads may read. A named stream must exist
/// until released().
class DeviceUse {
 public:
  explicit DeviceUse(std::shared_ptr<Device> device);
  ~DeviceUse();  ///< calls finish()
  DeviceUse(DeviceUse&&) = delete;

  Device& device() const { return *device_; }

  void begin_write(StreamHandle writer);
  void written(StreamHandle writer);

  /// Work that enters `stream` from now on sees the written data, and counts as a use until released().
  void wait(StreamHandle stream);
  /// Only counts the use: for a stream that is ordered after another one that waited.
  void record_stream(StreamHandle stream);
  /// Blocks this thread until the data is written. Throws Error: resource, if writing it failed.
  void synchronize() const { ready_->wait(); }
  bool ready() const { return ready_->done(); }

  /// Blocks this thread until all reads and writes are done; call it before the memory is freed. Ignores failures.
  void finish() noexcept;

  /// Ends the reader's use on the host: records the current position of each stream that it named. A reader that named
  /// none may have used the default stream. `read` is false if there was no reader.
  void released(bool read = true) noexcept;

 private:
  struct Reader {
    StreamHandle stream;
    std::unique_ptr<Event> left;
  };
  void add(StreamHandle stream);

  const std::shared_ptr<Device> device_;
  std::unique_ptr<Event> ready_;
  std::mutex mutex_;                            // guards the members below
  std::vector<StreamHandle> streams_;           // of the current reader
  std::vector<Reader> readers_;                 // of the last reader
  std::vector<std::unique_ptr<Event>> events_;  // unused events
};

}  // namespace penstock
