// Has a device read rows from their files itself: LoaderOptions::device_options.gpu_direct.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include <base/lru_cache.hpp>
#include <device/file_reads.hpp>
#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <storage/read/file_table.hpp>

namespace penstock {

/// A row, and its place in the device's memory: `at` bytes behind where an allocation begins.
struct DeviceRow {
  Extent extent;
  std::byte* memory;
  std::uint64_t at;
  std::string_view key, field;  ///< for messages
};

class DeviceReads {
 public:
  DeviceReads(const Dataset& dataset, std::shared_ptr<FileReads> reads, unsigned threads);

  /// Whether the device can read an extent: its file can be opened so, and the extent lies inside. What is refused goes
  /// the ordinary way, where a fault meets the error policy.
  bool takes(const Extent& extent);
  /// Why bytes of that file pass through the host's memory; empty: they do not. Throws what opening it throws.
  std::string bounced(std::uint32_t file);
  const std::shared_ptr<FileReads>& reads() const { return reads_; }

  /// Brings all rows, several at a time, and returns when they are there, or once `cancelled`, which is looked at
  /// before each. Nobody may use their memory. Throws Error: io, after three tries; corrupt, where a file was cut since
  /// it was opened; resource; of the rows that failed, the first one's.
  void bring(std::span<const DeviceRow> rows, const std::function<bool()>& cancelled);

  void run();    ///< what each thread does, until close()
  void close();  ///< what is being brought then is brought to its end
  unsigned threads() const { return threads_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  ///< so far; orders nothing

 private:
  struct Opened {
    std::shared_ptr<const OpenFile> file;
    std::unique_ptr<DeviceFile> device;  // ends before its descriptor
  };
  struct Job {
    std::span<const DeviceRow> rows;
    const std::function<bool()>& cancelled;
    std::size_t next, left, failed_row;
    std::exception_ptr failure;
  };
  std::shared_ptr<const Opened> opened(std::uint32_t file);
  std::exception_ptr failure_of(const DeviceRow& row, const std::function<bool()>& cancelled);
  void read(const DeviceRow& row);

  const Dataset dataset_;
  const std::shared_ptr<FileReads> reads_;
  const unsigned threads_;
  std::atomic<std::uint64_t> bytes_{0};
  FileTable files_;
  std::mutex mutex_;         // guards the rest
  LruCache<Opened> opened_;  // those that the table has open, or had
  std::condition_variable arrived_, done_;
  std::deque<Job*> jobs_;  // with rows that no thread has taken
  bool closed_ = false;
};

}  // namespace penstock
