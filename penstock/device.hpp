// Names a device and its streams. Device itself is internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// A queue of work, by the number its API gives it: CUDA's cudaStream_t as an integer. On every device kDefaultStream
/// is the one that is there already (CUDA: the legacy default stream), and kThreadStream CUDA's per-thread default. The
/// numbers are those of DLPack's `stream`.
using StreamHandle = std::uintptr_t;

inline constexpr StreamHandle kDefaultStream = 1, kThreadStream = 2;

/// Which device: "cuda:0". `host` is a processor in the place of a device, for programs and tests without one.
struct DeviceId {
  enum class Kind : std::uint8_t { host, cuda } kind = Kind::host;
  int number = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

std::string to_string(const DeviceId& device);

/// "cuda", "cuda:1", "host", "host:0". Throws Error: invalid_argument, for what is none of these.
DeviceId device_named(std::string_view name);

}  // namespace penstock
