// Names devices and their streams. Class Device itself is internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// A queue of work, as the number that its API uses: CUDA's cudaStream_t as an integer. On every device, kDefaultStream
/// is the predefined stream (CUDA: the legacy default stream). kThreadStream is CUDA's per-thread default. The numbers
/// are those of DLPack's `stream`.
using StreamHandle = std::uintptr_t;

inline constexpr StreamHandle kDefaultStream = 1, kThreadStream = 2;

/// Identifies a device: "cuda:0". `host` is a processor that acts as a device, for programs and tests without a GPU.
struct DeviceId {
  enum class Kind : std::uint8_t { host, cuda } kind = Kind::host;
  int number = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

std::string to_string(const DeviceId& device);

/// Parses "cuda", "cuda:1", "host", "host:0". Throws Error: invalid_argument, for any other name.
DeviceId device_named(std::string_view name);

}  // namespace penstock
