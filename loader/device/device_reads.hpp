// Lets a device read rows from their files: LoaderOptions::device_options.gpu_direct.
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

/// A row and its place in the device's memory: `at` bytes after the start of the allocation `memory`.
struct DeviceRow {
  Extent extent;
  std::byte* memory;
  std::uint64_t at;
  std::string_view key, field;  ///< for messages
};

class DeviceReads {
 public:
  DeviceReads(const Dataset& dataset, std::shared_ptr<FileReads> reads, unsigned threads);

  /// Returns true if the device can read an extent: its file can be opened for the device, and the extent is inside
  /// the file. Workers read other extents, so that the error policy handles their faults.
  bool takes(const Extent& extent);
  /// Returns why bytes of that file pass through the host's memory; empty if they do not. Throws if the file cannot
  /// be opened.
  std::string bounced(std::uint32_t file);
  const std::shared_ptr<FileReads>& reads() const { return reads_; }

  /// Reads all rows, several at a time. Returns when they have arrived, or once `cancelled` returns true; each row
  /// checks it. No other thread may use their memory. Throws Error: io, after three attempts; corrupt, if a file was
  /// truncated since it was opened; resource. If several rows fail, it throws the error of the first.
  void bring(std::span<const DeviceRow> rows, const std::function<bool()>& cancelled);

  void run();    ///< each thread's main function, until close()
  void close();  ///< the requests of bring() in progress are completed
  unsigned threads() const { return threads_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  ///< so far; orders nothing

 private:
  struct Opened {
    std::shared_ptr<const OpenFile> file;
    std::unique_ptr<DeviceFile> device;  // declared last, so that it ends before its descriptor
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
  LruCache<Opened> opened_;  // files that the table has open, or had open
  std::condition_variable arrived_, done_;
  std::deque<Job*> jobs_;  // jobs with rows that no thread has taken
  bool closed_ = false;
};

}  // namespace penstock
