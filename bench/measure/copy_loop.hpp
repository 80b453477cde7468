// Measures plain copies to a device, which the loader's copies are compared with.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <penstock/device/device.hpp>

namespace penstock {

/// Bytes a second of a plain loop of copies, each of `bytes` (at least 1) from page-locked memory, where the device
/// locks pages, for that long. Throws what the device throws.
double copy_rate(const std::shared_ptr<Device>& device, std::uint64_t bytes, std::chrono::nanoseconds duration);

}  // namespace penstock
