// Reads files straight into memory of a device, past the host's memory where the hardware can (GPUDirect Storage).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace penstock {

/// An open file, as the device reads it.
class DeviceFile {
 public:
  virtual ~DeviceFile() = default;
  /// Why its bytes pass through a buffer of the host's on their way, in one line; empty: they do not.
  virtual std::string bounced() const = 0;
  /// Reads up to `bytes` bytes at `offset` of the file to `at` bytes behind `memory`, which is where an allocation of
  /// the device begins, and blocks until they are there: what any stream is given afterwards sees them. It waits for no
  /// stream. Returns bytes read, 0 at the file's end, or -errno. Throws Error: resource, when the device fails.
  virtual std::int64_t read(void* memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t offset) const = 0;
};

/// What Device::file_reads() makes; it ends before the device, and after its files. All calls from any thread.
class FileReads {
 public:
  virtual ~FileReads() = default;
  /// Whether descriptors are to be opened with O_DIRECT, where the file system has it.
  virtual bool wants_direct_io() const = 0;
  /// `fd` must stay open for as long as the file is used. Throws Error: unsupported, for one that cannot be read so.
  virtual std::unique_ptr<DeviceFile> open(int fd) = 0;
  /// Lets storage write to an allocation of the device without any buffer between; a refusal costs only speed.
  virtual void attach(void* memory, std::uint64_t bytes) noexcept = 0;
  virtual void detach(void* memory) noexcept = 0;
};

/// Memory of a device that stays attached for as long as this lives; it is somebody else's and must outlive it.
class FileAttachment {
 public:
  FileAttachment() = default;
  FileAttachment(std::shared_ptr<FileReads> reads, std::byte* memory, std::uint64_t bytes) {
    reads->attach(memory, bytes);
    memory_ = {memory, Detach{std::move(reads)}};
  }

 private:
  struct Detach {
    std::shared_ptr<FileReads> reads;
    void operator()(std::byte* memory) const { reads->detach(memory); }
  };
  std::unique_ptr<std::byte, Detach> memory_;
};

}  // namespace penstock
