// Measures the bandwidth of the resources that a loader uses, for `penstock doctor --bandwidth`. Only reads, and bounds
// its time and memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>

namespace penstock {

class Device;

struct BandwidthOptions {
  std::chrono::milliseconds time{500};             ///< of each resource
  std::uint64_t memory = std::uint64_t{64} << 20;  ///< bytes of buffers, at most; also read into the page cache
  std::function<bool()> keep_going = {};
};

struct Bandwidth {
  double bytes_per_s = 0;  ///< 0: not measured
  std::string how;         ///< "4 reads of 4.0 MiB at a time, O_DIRECT"; or the reason why it was not measured
};

/// Regular files in `path`, or `path` itself, with at least `least` bytes: at most `most`, the largest first. Looks at
/// no more than 100,000 entries.
std::vector<std::filesystem::path> files_to_read(const std::filesystem::path& path, std::uint64_t least = 1,
                                                 std::size_t most = 256);

/// Reads the files in turn with O_DIRECT, and again from the first if time is left. Not measured on file systems that
/// refuse O_DIRECT (tmpfs).
Bandwidth disk_bandwidth(std::span<const std::filesystem::path> files, const BandwidthOptions& options);
/// Reads the beginnings of the files, `memory` bytes at most, into the page cache, and then copies them from there.
Bandwidth page_cache_bandwidth(std::span<const std::filesystem::path> files, const BandwidthOptions& options);
/// Bytes that memcpy() writes in `threads` threads.
Bandwidth memory_bandwidth(unsigned threads, const BandwidthOptions& options);
/// Bytes through a TCP connection of this process with itself, on 127.0.0.1.
Bandwidth loopback_bandwidth(const BandwidthOptions& options);
/// Copies from page-locked memory to the device.
Bandwidth device_bandwidth(Device& device, const BandwidthOptions& options);
/// Reads the objects in turn, with several requests at a time. The time has a limit of four times `time`, because the
/// first response may be slow.
Bandwidth store_bandwidth(std::span<const std::shared_ptr<const StoredObject>> objects,
                          const BandwidthOptions& options);

}  // namespace penstock
