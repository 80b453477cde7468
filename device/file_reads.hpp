// Reads files into device memory, without a copy in host memory if the hardware supports it (GPUDirect Storage).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace penstock {

/// An open file that the device can read.
class DeviceFile {
 public:
  virtual ~DeviceFile() = default;
  /// Returns, in one line, why its bytes pass through a host buffer; empty if they do not.
  virtual std::string bounced() const = 0;
  /// Reads up to `bytes` bytes at `offset` of the file to `memory` + `at`, where `memory` is the beginning of a device
  /// allocation. Blocks until they are there: later work of any stream sees them. Does not wait for a stream. Returns
  /// the bytes read, 0 at the end of the file, or -errno. Throws Error: resource, if the device fails.
  virtual std::int64_t read(void* memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t offset) const = 0;
};

/// Result of Device::file_reads(). Must be destroyed before the device, and after its files. Thread-safe.
class FileReads {
 public:
  virtual ~FileReads() = default;
  /// Returns true if files should be opened with O_DIRECT when the file system supports it.
  virtual bool wants_direct_io() const = 0;
  /// `fd` must stay open while the file is used. Throws Error: unsupported, if it cannot be read this way.
  virtual std::unique_ptr<DeviceFile> open(int fd) = 0;
  /// Lets storage write to a device allocation without an intermediate buffer; a refusal only affects speed.
  virtual void attach(void* memory, std::uint64_t bytes) noexcept = 0;
  virtual void detach(void* memory) noexcept = 0;
};

/// Attaches device memory while this object lives. The memory belongs to the caller and must outlive it.
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
