// How bytes are read, checked and cached, and the counters for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>

#include <penstock/store_counts.hpp>

namespace penstock {

struct ChosenEngine;   // storage/read/read_engine.hpp
struct EngineOptions;  // storage/read/read_engine.hpp
class Dataset;

/// The read engines, which docs/engines.md describes. `in_worker` is "inline" in Python and the command. `store` reads
/// datasets from object stores and web servers, and cannot be selected.
enum class EngineKind : std::uint8_t { automatic, io_uring, in_worker, pread, mmap, store };

std::string_view name(EngineKind kind);  ///< "auto", "io_uring", "inline", "pread", "mmap", "store"

/// Returns the engine with that name. Throws Error: invalid_argument.
EngineKind engine_named(std::string_view name);

/// Counters of a read engine.
struct EngineStats {
  std::uint64_t requests = 0, bytes = 0;    ///< requested
  std::uint64_t reads = 0, read_bytes = 0;  ///< issued to the system, after merging and alignment
  std::uint64_t opens = 0;                  ///< opened files
  std::chrono::nanoseconds opening{};       ///< time for opening them
  std::uint64_t retries = 0;                ///< short reads, EINTR and EAGAIN that were repeated
  /// Time of the engine's threads, or its callers, inside reads; for a ring: with any read in flight.
  std::chrono::nanoseconds busy{};
  StoreCounts store = {};  ///< requests to a store, if the data are in one
  EngineStats& operator+=(const EngineStats& other);
  friend bool operator==(const EngineStats&, const EngineStats&) = default;
};

/// Engines call it once per request, from any thread (also inside submit(), by its caller). The failure is null, or an
/// Error with shard and offset (io; corrupt: "file ends inside the field"). The function must not block or throw.
using OnRead = std::function<void(std::uint64_t tag, std::exception_ptr failure)>;
/// Makes an engine like choose_engine().
using EngineFactory = std::function<ChosenEngine(const Dataset&, const EngineOptions&, OnRead)>;

/// When to compare bytes with their recorded CRC-32C. `off`: never. `first`: when this loader reads a value, or a part
/// of it, for the first time. `always`: each time.
enum class Checksums : std::uint8_t { off, first, always };
std::string_view name(Checksums checksums);  ///< "off", "first", "always"
/// Returns the mode with that name. Throws Error: invalid_argument.
Checksums checksums_named(std::string_view name);

/// Counters of checksum comparisons.
struct CheckStats {
  std::uint64_t checked = 0, checked_bytes = 0;      ///< values, or ranges of values read in part
  std::uint64_t unchecked = 0, unchecked_bytes = 0;  ///< values without a recorded checksum, or read by a device
  std::uint64_t mismatches = 0;                      ///< on the first read; a second read may have succeeded
  friend bool operator==(const CheckStats&, const CheckStats&) = default;
};

/// The form in which a loader's cache keeps samples.
enum class CacheKind : std::uint8_t {
  none,
  encoded,  ///< stored bytes, decompressed
  /// Images as pixels, before any crop or draw. Rows without random draws in their final form. Other values like
  /// `encoded`.
  decoded,
};
std::string_view name(CacheKind kind);  ///< "none", "encoded", "decoded"
/// Returns the cache with that name. Throws Error: invalid_argument.
CacheKind cache_named(std::string_view name);

/// The scope of the cache. `process`: the threads of one process share it. `node`: all processes of this user on the
/// node share it if they read the same samples in the same way.
enum class CacheScope : std::uint8_t { process, node };
std::string_view name(CacheScope scope);  ///< "process", "node"
/// Returns the scope with that name. Throws Error: invalid_argument.
CacheScope cache_scope_named(std::string_view name);

/// Counters of the disk cache, for one loader or one process. Bytes are those of whole blocks.
struct DiskCacheStats {
  std::uint64_t hits = 0;           ///< blocks read from the disk
  std::uint64_t misses = 0;         ///< requested blocks that were missing or damaged
  std::uint64_t bad = 0;            ///< the part of `misses` with a wrong checksum
  std::uint64_t bytes_read = 0;     ///< from the disk
  std::uint64_t bytes_written = 0;  ///< to the disk
  std::uint64_t bytes_evicted = 0;  ///< to make room
  std::uint64_t bypassed = 0;       ///< blocks not stored, because every stored block is needed sooner
  std::chrono::nanoseconds reading{}, writing{}, evicting{};  ///< summed over threads
  std::uint64_t used = 0, limit = 0;                          ///< current size of the folder in bytes
  DiskCacheStats& operator+=(const DiskCacheStats& other);
  friend bool operator==(const DiskCacheStats&, const DiskCacheStats&) = default;
};

}  // namespace penstock
