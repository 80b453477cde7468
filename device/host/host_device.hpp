// A Device that is a processor: its memory, streams and events are as asynchronous as a real device's, so that code for
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

/// A piece of work, as HostDeviceOptions::before sees it.
struct HostWork {
  enum class Kind : std::uint8_t { copy_in, copy_out, image, points, resample, file_read } kind;
  std::uint64_t bytes;   ///< of a copy or of a read; else 0
  std::uint64_t number;  ///< of this device's pieces of work as they are begun, from 0
};

struct HostDeviceOptions {
  /// Called in the stream's thread before each piece of work, and in the caller's before reads of files. It may take
  /// its time; what it throws fails the device for good, as a fault of a kernel does: no later work is done, whoever
  /// asks for a result gets Error: resource, and memory ends when what was under way has ended.
  std::function<void(const HostWork&)> before = {};
  std::string refuse_pin = {};    ///< not empty: what pin() throws
  std::string refuse_files = {};  ///< not empty: what file_reads() throws
  /// Stands between the system's answer to a read of a file (bytes, or -errno) and who asked. May make it worse.
  std::function<std::int64_t(std::int64_t answer)> file_answer = {};
  std::uint64_t memory_bytes = 0;  ///< more than that allocate() refuses; 0: as the system has
};

class HostQueue;
class HostEvent;
class HostFile;

/// One thread for each stream. Work is done in order within a stream and in any order between them; a stream that waits
/// for an event stands still. "Device memory" is ordinary memory.
class HostDevice final : public Device {
 public:
  explicit HostDevice(int number, HostDeviceOptions options = {});
  ~HostDevice() override;  ///< waits for all work; a stream that waits for what never comes keeps it for ever

  DeviceId id() const override { return {DeviceId::Kind::host, number_}; }
  std::string description() const override { return "the processor in a device's place"; }
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
  std::shared_ptr<FileReads> file_reads() override;  ///< by pread, in the caller's thread
  void run(const ImagePass& pass, StreamHandle stream) override;
  void run(const PointPass& pass, StreamHandle stream) override;
  void run(const ResamplePass& pass, StreamHandle stream) override;

  /// Any other work, in order with the rest: what a program's own kernels are to a real device.
  void enqueue(StreamHandle stream, std::function<void()> work);

  std::uint64_t allocated() const;  ///< bytes
  std::uint64_t pinned() const;     ///< bytes
  std::uint64_t attached() const;   ///< bytes, for reads of files

 private:
  friend class HostEvent;
  friend class HostFile;
  class OwnStream;
  class OwnFileReads;

  HostQueue& queue(StreamHandle stream);  ///< throws Error: invalid_argument, for a number that no stream has
  void work(StreamHandle stream, HostWork::Kind kind, std::uint64_t bytes, std::function<void()> work);
  void run_if_sound(const std::function<void()>& work);
  void begin(HostWork::Kind kind, std::uint64_t bytes);
  void fail(const char* cause) noexcept;
  std::string failure() const;
  void require_sound(const char* call) const;

  const int number_;
  const HostDeviceOptions options_;
  std::atomic<std::uint64_t> begun_{0};  // numbers pieces of work: relaxed, orders nothing
  mutable std::mutex mutex_;             // guards all below
  std::map<StreamHandle, std::unique_ptr<HostQueue>> queues_;
  std::vector<std::unique_ptr<HostQueue>> ended_;  // their threads end when their work is done
  StreamHandle next_handle_ = kThreadStream + 1;
  std::map<void*, std::uint64_t> allocations_, pins_, attached_;
  std::string failure_;
  unsigned running_ = 0;  // pieces of work
  std::condition_variable rested_;
};

/// The same pass, at once, in the calling thread: what the kernels of devices are measured against.
void run_on_host(const ImagePass& pass);
void run_on_host(const PointPass& pass);
void run_on_host(const ResamplePass& pass);

}  // namespace penstock
