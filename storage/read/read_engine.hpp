// Engines that fetch extents. All return identical bytes; they differ in which thread waits, and where.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <penstock/storage.hpp>

namespace penstock {

class DiskCacheUse;

/// CRC-32C of the bytes read, if the engine computed it during the copy.
struct ReadSum {
  std::uint32_t crc32c = 0;
  bool known = false;
};

/// One extent to fetch. `destination` has room for extent.length bytes and must live until the request completes.
struct ReadRequest {
  Extent extent;
  std::byte* destination;
  std::uint64_t tag;       ///< passed back on completion
  bool streamed = false;   ///< the destination is not read soon: a copying engine may bypass the CPU caches
  ReadSum* sum = nullptr;  ///< null: not requested; a copying engine sums the bytes in the same pass
};

/// How long the destructor of an engine waits for reads that are inside the kernel.
inline constexpr std::chrono::milliseconds kStopGrace{2000};

class ReadEngine {
 public:
  /// Calls stop(kStopGrace).
  virtual ~ReadEngine() = default;
  /// Cancels all reads in flight. After it returns, `on_read` is not running and will not be called again. No submit()
  /// may run at the same time or later. Returns false if storage did not answer within `grace`. In that case a read may
  /// write to its destination at any later time, so the caller must never free or reuse the destinations of unreported
  /// requests. Must not be called from `on_read`. A second call returns the result of the first.
  virtual bool stop(std::chrono::milliseconds grace) {
    static_cast<void>(grace);
    return true;
  }
  /// Makes current and future reads fail at once instead of waiting for a network. May be called from any thread except
  /// one that runs `on_read`.
  virtual void cancel() noexcept {}
  /// True after stop() has returned false.
  virtual bool abandoned() const { return false; }
  virtual EngineKind kind() const = 0;
  /// True if submit() reads and completes in the calling thread (which is then the decoding worker).
  virtual bool synchronous() const = 0;
  virtual unsigned threads() const { return 0; }  ///< threads of the engine; 0 if the callers read
  /// Thread-safe. Does not wait for data unless synchronous(). The caller limits the requests in flight. Requests of
  /// one call may be answered in any order; nearby ones are merged into one read. Never throws: a request that cannot
  /// be read, for example for lack of memory, is answered with the error.
  virtual void submit(std::span<const ReadRequest> requests) = 0;
  virtual EngineStats stats() const = 0;
};

struct EngineOptions {
  EngineKind kind = EngineKind::automatic;
  bool direct_io = false;  ///< O_DIRECT if the file system supports it
  bool scattered = false;  ///< reads many small records of large values: resident data is gathered from a mapping
  bool rows = false;  ///< values are rows used as stored: resident data is copied from a mapping, without a system call
  /// reader threads: rings, or pread threads; 0 chooses: 1 ring, 16 pread threads, 64 for network file systems
  unsigned threads = 0;
  unsigned depth = 256;  ///< requests in flight per ring
  std::uint64_t merge_gap_bytes = 32 << 10;              ///< extents this close are merged into one read
  std::uint64_t merge_bytes = 1 << 20;                   ///< maximum size of a merged read
  std::shared_ptr<DiskCacheUse> disk_cache = {};         ///< for objects in stores; null: no cache
  std::uint64_t block_window = std::uint64_t{64} << 20;  ///< limit on bytes of whole blocks in flight for the cache
};

/// The engine and the reason for the choice: "resident: 64 of 64 probed pages in memory", "io_uring refused: EPERM".
struct ChosenEngine {
  std::unique_ptr<ReadEngine> engine;
  std::string reason;
};

/// Probes residency and io_uring, and makes the engine. The dataset must outlive it. PENSTOCK_ENGINE in the environment
/// overrides the automatic choice. Throws Error: invalid_argument, if an engine requested by name is not available. The
/// automatic choice falls back from io_uring to pread instead.
ChosenEngine choose_engine(const Dataset& dataset, const EngineOptions& options, OnRead on_read);

}  // namespace penstock
