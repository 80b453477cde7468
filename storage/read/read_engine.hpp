// The engines that fetch extents. All give identical bytes; they differ in which thread waits, and where.
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

/// The CRC-32C of what a read brought, where the engine has computed it on the way.
struct ReadSum {
  std::uint32_t crc32c = 0;
  bool known = false;
};

/// One extent to fetch. `destination` holds extent.length bytes and must live until the request completes.
struct ReadRequest {
  Extent extent;
  std::byte* destination;
  std::uint64_t tag;       ///< given back on completion
  bool streamed = false;   ///< nobody reads the destination soon: an engine that copies need not leave it in the caches
  ReadSum* sum = nullptr;  ///< wanted: an engine that copies sums up the same bytes in the same pass
};

/// How long an engine waits, when it is destroyed, for reads that are inside the system.
inline constexpr std::chrono::milliseconds kStopGrace{2000};

class ReadEngine {
 public:
  /// As stop(kStopGrace).
  virtual ~ReadEngine() = default;
  /// Cancels what is in flight; when it returns, `on_read` is not running and will not be called again. No submit() may
  /// run at the same time or follow. False where storage did not answer within `grace`: a read may then still write to
  /// its destination at any later time, so the caller must never free or reuse the destinations of requests that were
  /// not reported. Must not be called from `on_read`. A second call returns what the first one did.
  virtual bool stop(std::chrono::milliseconds grace) {
    static_cast<void>(grace);
    return true;
  }
  /// Reads under way, and those to come, fail at once where they would wait for a network. From any thread but that of
  /// an answer.
  virtual void cancel() noexcept {}
  /// True once stop() has returned false.
  virtual bool abandoned() const { return false; }
  virtual EngineKind kind() const = 0;
  /// True when submit() itself reads and completes, in the calling thread (which is then the decoding worker).
  virtual bool synchronous() const = 0;
  virtual unsigned threads() const { return 0; }  ///< of its own; none where the callers read
  /// Safe from any thread. Does not wait for data unless synchronous(). The caller bounds what is in flight.
  /// Requests of one call may be answered in any order; those that lie close together are read as one. Never throws:
  /// what keeps a request from being read, lack of memory too, is its answer.
  virtual void submit(std::span<const ReadRequest> requests) = 0;
  virtual EngineStats stats() const = 0;
};

struct EngineOptions {
  EngineKind kind = EngineKind::automatic;
  bool direct_io = false;  ///< O_DIRECT where the file system allows it
  bool scattered = false;  ///< many small records of large values are read: what is resident is gathered from a mapping
  bool rows = false;  ///< values are rows as they are: what is resident is copied from a mapping, without a system call
  unsigned threads = 0;  ///< reader threads: rings, or pread threads; 0 chooses (1 ring, 16 pread threads)
  unsigned depth = 256;  ///< requests in flight per ring
  std::uint64_t merge_gap_bytes = 32 << 10;              ///< extents this close are read as one
  std::uint64_t merge_bytes = 1 << 20;                   ///< as long as the read stays within this
  std::shared_ptr<DiskCacheUse> disk_cache = {};         ///< of what is read from stores; null: nothing is kept
  std::uint64_t block_window = std::uint64_t{64} << 20;  ///< bytes of whole blocks for it that are on their way at once
};

/// The engine and why it is that one: "resident: 64 of 64 probed pages in memory", "io_uring refused: EPERM".
struct ChosenEngine {
  std::unique_ptr<ReadEngine> engine;
  std::string reason;
};

/// Probes residency and io_uring, and makes the engine. The dataset must outlive it. PENSTOCK_ENGINE in the environment
/// overrides automatic choice. Throws Error: invalid_argument, when an engine asked for by name cannot be had
/// (automatic falls back instead: io_uring -> pread).
ChosenEngine choose_engine(const Dataset& dataset, const EngineOptions& options, OnRead on_read);

}  // namespace penstock
