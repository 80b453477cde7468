// The interface of accelerators: memory, streams, events, copies and a few kernels. One implementation has CUDA
// behind it, the other one a processor that is just as asynchronous.
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

/// A queue of our own. Work in it runs in order, and beside that of other streams. Ending it does not wait for the
/// work.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual StreamHandle handle() const = 0;
};

/// A place in a stream. Any thread may call, one at a time for record().
class Event {
 public:
  virtual ~Event() = default;
  /// The place after all that is in the stream now. Waits that began before keep the place recorded then.
  virtual void record(StreamHandle stream) = 0;
  /// Whether the work before the place is over; true before the first record(). Throws Error: resource, when it failed.
  virtual bool done() const = 0;
  /// Blocks this thread, without keeping its core busy, until done(). Throws as done().
  virtual void wait() const = 0;
};

/// All calls from any thread, whatever device is current in it, which stays. Work is only enqueued: what fails later is
/// thrown by Event::done() and wait(). Everything made by a device ends before it.
///
/// Throws, all of them, Error: resource, with the device's name, the call, and what the driver says.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;
  virtual std::string description() const = 0;  ///< "NVIDIA H200, 139.8 GiB, compute capability 9.0"

  /// Lets the device read these pages directly; they are the caller's and stay mapped until unpin(). Slow: once, up
  /// front.
  virtual void pin(void* data, std::uint64_t bytes) = 0;
  virtual void unpin(void* data) noexcept = 0;

  virtual void* allocate(std::uint64_t bytes) = 0;   ///< of the device, aligned to 256 bytes
  virtual void deallocate(void* data) noexcept = 0;  ///< no work may use it any more

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// What enters the stream from now on runs after the event's place; the calling thread goes on at once.
  virtual void wait(StreamHandle stream, const Event& event) = 0;
  /// Blocks this thread until all that is in the stream now is over, or the device has failed and does no more of it.
  /// Needs no memory: what is left where no event could be recorded behind work that uses somebody's memory.
  virtual void drain(StreamHandle stream) noexcept = 0;
  /// Between two places whose work is done.
  virtual std::chrono::nanoseconds between(const Event& from, const Event& to) const = 0;

  /// Asynchronous where the host's memory is pinned; both stay as they are until an event behind the copy is done.
  virtual void copy_in(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) = 0;
  virtual void copy_out(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) = 0;

  /// Its way to read files without the host's copies. Throws Error: unsupported, where it has none, saying why.
  virtual std::shared_ptr<FileReads> file_reads() = 0;

  virtual void run(const ImagePass& pass, StreamHandle stream) = 0;
  virtual void run(const PointPass& pass, StreamHandle stream) = 0;
  virtual void run(const ResamplePass& pass, StreamHandle stream) = 0;
};

/// The device of that name, opened once per process and shared while anybody has it.
/// Throws Error: unsupported, saying why, where there is none: built without CUDA, no driver, too old a driver, no such
/// number; invalid_argument for other names.
std::shared_ptr<Device> open_device(std::string_view name);

}  // namespace penstock
