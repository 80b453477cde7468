// How bytes are read, checked and kept, and the counts of that.
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

/// `store` is that of datasets at addresses, and cannot be asked for.
enum class EngineKind : std::uint8_t { automatic, io_uring, in_worker, pread, mmap, store };

std::string_view name(EngineKind kind);  ///< "auto", "io_uring", "inline", "pread", "mmap", "store"

EngineKind engine_named(std::string_view name);  ///< throws Error: invalid_argument

struct EngineStats {
  std::uint64_t requests = 0, bytes = 0;    ///< asked for
  std::uint64_t reads = 0, read_bytes = 0;  ///< issued to the system, after coalescing and alignment
  std::uint64_t opens = 0;                  ///< of files
  std::chrono::nanoseconds opening{};       ///< that they took
  std::uint64_t retries = 0;                ///< short reads, EINTR and EAGAIN asked again
  std::chrono::nanoseconds
      busy{};              ///< threads of the engine, or of its callers, inside reads; of a ring: any read in flight
  StoreCounts store = {};  ///< of requests to a store, where what is read lies in one
  EngineStats& operator+=(const EngineStats& other);
  friend bool operator==(const EngineStats&, const EngineStats&) = default;
};

/// Called once per request, from any thread (that of submit() too, inside it): null, or an Error with shard and offset
/// (io; corrupt: "file ends inside the field"). Must not block and must not throw.
using OnRead = std::function<void(std::uint64_t tag, std::exception_ptr failure)>;
/// Makes an engine as choose_engine() does.
using EngineFactory = std::function<ChosenEngine(const Dataset&, const EngineOptions&, OnRead)>;

/// When bytes that were read are compared with the CRC-32C recorded for them: never; the first time this loader reads a
/// value, or a part of one; each time.
enum class Checksums : std::uint8_t { off, first, always };
std::string_view name(Checksums checksums);        ///< "off", "first", "always"
Checksums checksums_named(std::string_view name);  ///< Throws Error: invalid_argument.

struct CheckStats {
  std::uint64_t checked = 0, checked_bytes = 0;      ///< values, or ranges of values read in part
  std::uint64_t unchecked = 0, unchecked_bytes = 0;  ///< values without a recorded checksum, or read by a device
  std::uint64_t mismatches = 0;                      ///< of the first read; a second one may have cured them
  friend bool operator==(const CheckStats&, const CheckStats&) = default;
};

/// What a loader's cache keeps of the samples that it has read.
enum class CacheKind : std::uint8_t {
  none,
  encoded,  ///< stored bytes, blocks undone
  decoded,  ///< images as pixels, before any crop or draw; rows that nothing is drawn for as they are; else as
            ///< `encoded`
};
std::string_view name(CacheKind kind);
CacheKind cache_named(std::string_view name);  ///< Throws Error: invalid_argument.

/// Who shares that cache: the threads of one process, or all processes of this user on the node that read the same
/// samples in the same way.
enum class CacheScope : std::uint8_t { process, node };
std::string_view name(CacheScope scope);
CacheScope cache_scope_named(std::string_view name);  ///< Throws Error: invalid_argument.

/// Counters of the disk cache of one loader, or of one process. Bytes are those of whole blocks.
struct DiskCacheStats {
  std::uint64_t hits = 0;           ///< blocks that were read from the disk
  std::uint64_t misses = 0;         ///< blocks that were asked for and were not there, or not sound
  std::uint64_t bad = 0;            ///< of those, blocks that were there and whose checksum was wrong
  std::uint64_t bytes_read = 0;     ///< from the disk
  std::uint64_t bytes_written = 0;  ///< to the disk
  std::uint64_t bytes_evicted = 0;  ///< to make room
  std::uint64_t bypassed = 0;       ///< blocks that were not kept, since all that is kept is wanted sooner
  std::chrono::nanoseconds reading{}, writing{}, evicting{};  ///< summed over threads
  std::uint64_t used = 0, limit = 0;                          ///< bytes of the folder, now
  DiskCacheStats& operator+=(const DiskCacheStats& other);
  friend bool operator==(const DiskCacheStats&, const DiskCacheStats&) = default;
};

}  // namespace penstock
