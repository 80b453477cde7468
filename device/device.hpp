// The interface of accelerators: memory, streams, events, copies and a few kernels. One implementation uses CUDA. The
// other one runs on the CPU and is equally asynchronous.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <device/file_reads.hpp>
#include <device/passes.hpp>
#include <penstock/device.hpp>

namespace penstock {

/// An owned queue. Work in it runs in order, and concurrently with other streams. The destructor does not wait for it.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual StreamHandle handle() const = 0;
};

/// A position in a stream. Thread-safe, except that calls of record() must not overlap.
class Event {
 public:
  virtual ~Event() = default;
  /// Records the position after all work that is in the stream now. Waits that began earlier keep the earlier position.
  virtual void record(StreamHandle stream) = 0;
  /// Returns true if the work before the position is done, or before the first record(). Throws Error: resource, if the
  /// work failed.
  virtual bool done() const = 0;
  /// Blocks this thread, without using its core, until done(). Throws as done().
  virtual void wait() const = 0;
};

/// Thread-safe; the current device of the calling thread does not matter and is not changed. Work is only enqueued:
/// later failures are thrown by Event::done() and wait(). Everything that a device made must be destroyed before it.
///
/// All functions may throw Error: resource, with the device's name, the call, and the driver's message.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;
  virtual std::string description() const = 0;  ///< "NVIDIA H200, 139.8 GiB, compute capability 9.0"

  /// Lets the device read these pages directly. The caller owns them and keeps them mapped until unpin(). Slow: call it
  /// once, in advance.
  virtual void pin(void* data, std::uint64_t bytes) = 0;
  virtual void unpin(void* data) noexcept = 0;

  virtual void* allocate(std::uint64_t bytes) = 0;   ///< device memory, aligned to 256 bytes
  virtual void deallocate(void* data) noexcept = 0;  ///< no work may use it any more

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Work that enters the stream from now on runs after the event's position. The calling thread does not wait.
  virtual void wait(StreamHandle stream, const Event& event) = 0;
  /// Blocks this thread until all work in the stream is done, or the device has failed and will not run it. Needs no
  /// memory: the fallback if no event could be recorded after work that uses a caller's memory.
  virtual void drain(StreamHandle stream) noexcept = 0;
  /// Time between two positions whose work is done.
  virtual std::chrono::nanoseconds between(const Event& from, const Event& to) const = 0;

  /// Asynchronous if the host memory is pinned. Both memories must stay unchanged until an event after the copy is
  /// done.
  virtual void copy_in(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) = 0;
  virtual void copy_out(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) = 0;

  /// Returns the device's way to read files without copies in host memory. Throws Error: unsupported, with the reason,
  /// if it has none.
  virtual std::shared_ptr<FileReads> file_reads() = 0;

  virtual void run(const ImagePass& pass, StreamHandle stream) = 0;
  virtual void run(const PointPass& pass, StreamHandle stream) = 0;
  virtual void run(const ResamplePass& pass, StreamHandle stream) = 0;
};

/// Returns the device with this name, opened once per process and shared while in use.
/// Throws Error: unsupported, with the reason: built without CUDA, no driver, driver too old, no such number;
/// invalid_argument, for other names.
std::shared_ptr<Device> open_device(std::string_view name);

}  // namespace penstock
