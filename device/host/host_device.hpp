// A Device on the CPU. Its memory, streams and events are as asynchronous as those of a real device, so code for
// devices can be tested on any machine.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <device/device.hpp>
#include <device/file_reads.hpp>
#include <device/passes.hpp>
#include <penstock/device.hpp>

namespace penstock {

/// A piece of work, as HostDeviceOptions::before receives it.
struct HostWork {
  enum class Kind : std::uint8_t { copy_in, copy_out, image, points, resample, file_read } kind;
  std::uint64_t bytes;   ///< of a copy or a read; otherwise 0
  std::uint64_t number;  ///< counts the device's pieces of work in the order they start, from 0
};

struct HostDeviceOptions {
  /// Called in the stream's thread before each piece of work, and in the caller's thread before file reads. The
  /// function may block. An exception fails the device permanently, like a fault in a kernel. Then no later work runs,
  /// callers that request a result get Error: resource, and memory is freed once the running work has ended.
  std::function<void(const HostWork&)> before = {};
  std::string refuse_pin = {};    ///< if not empty: the error of pin()
  std::string refuse_files = {};  ///< if not empty: the error of file_reads()
  /// Filters the result of a file read (bytes, or -errno). The filter may make it worse.
  std::function<std::int64_t(std::int64_t answer)> file_answer = {};
  std::uint64_t memory_bytes = 0;  ///< limit of allocate(); 0: the system's
};

class HostQueue;
class HostEvent;
class HostFile;

/// Runs one thread per stream. Work runs in order within a stream and in any order between streams. A stream that waits
/// for an event blocks. "Device memory" is ordinary memory.
class HostDevice final : public Device {
 public:
  explicit HostDevice(int number, HostDeviceOptions options = {});
  ~HostDevice() override;  ///< waits for all work; blocks forever if a stream waits for an event that never comes

  DeviceId id() const override { return {DeviceId::Kind::host, number_}; }
  std::string description() const override { return "a processor that acts as a device"; }
  void pin(void* data, std::uint64_t bytes) override;
  void unpin(void* data) noexcept override;
  void* allocate(std::uint64_t bytes) override;
  void deallocate(void* data) noexcept override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Event> make_event() override;
  void wait(StreamHandle stream, const Event& event) override;
  void drain(StreamHandle stream) noexcept override;
  std::chrono::nanoseconds between(const Event& from, const Event& to) const override;
  void copy_in(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) override;
  void copy_out(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) override;
  std::shared_ptr<FileReads> file_reads() override;  ///< with pread, in the caller's thread
  void run(const ImagePass& pass, StreamHandle stream) override;
  void run(const PointPass& pass, StreamHandle stream) override;
  void run(const ResamplePass& pass, StreamHandle stream) override;

  /// Runs any other work in stream order, like a program's own kernels on a real device.
  void enqueue(StreamHandle stream, std::function<void()> work);

  std::uint64_t allocated() const;  ///< bytes
  std::uint64_t pinned() const;     ///< bytes
  std::uint64_t attached() const;   ///< bytes, for file reads

 private:
  friend class HostEvent;
  friend class HostFile;
  class OwnStream;
  class OwnFileReads;

  HostQueue& queue(StreamHandle stream);  ///< throws Error: invalid_argument, if no stream has this number
  void work(StreamHandle stream, HostWork::Kind kind, std::uint64_t bytes, std::function<void()> work);
  void run_if_sound(const std::function<void()>& work);
  void begin(HostWork::Kind kind, std::uint64_t bytes);
  void fail(const char* cause) noexcept;
  std::string failure() const;
  void require_sound(const char* call) const;

  const int number_;
  const HostDeviceOptions options_;
  std::atomic<std::uint64_t> begun_{0};  // numbers pieces of work; relaxed: orders nothing
  mutable std::mutex mutex_;             // guards all members below
  std::map<StreamHandle, std::unique_ptr<HostQueue>> queues_;
  std::vector<std::unique_ptr<HostQueue>> ended_;  // their threads end after their work
  StreamHandle next_handle_ = kThreadStream + 1;
  std::map<void*, std::uint64_t> allocations_, pins_, attached_;
  std::string failure_;
  unsigned running_ = 0;  // pieces of work
  std::condition_variable rested_;
};

/// Runs the pass at once, in the calling thread: the reference for the kernels of devices.
void run_on_host(const ImagePass& pass);
void run_on_host(const PointPass& pass);
void run_on_host(const ResamplePass& pass);

}  // namespace penstock
