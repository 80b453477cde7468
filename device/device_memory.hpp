// Owns device memory, and page-locked host pages that the device reads directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <device/device.hpp>

namespace penstock {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws Error: resource, if the device has too little memory. Zero bytes: data() is null.
  DeviceMemory(std::shared_ptr<Device> device, std::uint64_t bytes);

  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return bytes_; }

 private:
  struct Deallocate {
    std::shared_ptr<Device> device;
    void operator()(std::byte* data) const { device->deallocate(data); }
  };
  std::unique_ptr<std::byte, Deallocate> data_;
  std::uint64_t bytes_ = 0;
};

/// Pins pages while this object lives. The pages belong to the caller and must outlive it.
class Pin {
 public:
  Pin() = default;
  /// Without a device or bytes, nothing is pinned. Does not throw if the driver refuses: see refusal().
  Pin(std::shared_ptr<Device> device, std::span<std::byte> pages);

  bool pinned() const { return pages_ != nullptr; }
  /// Returns the driver's reason why the pages are not pinned; empty if they are, or if none were requested.
  const std::string& refusal() const { return refusal_; }

 private:
  struct Unpin {
    std::shared_ptr<Device> device;
    void operator()(std::byte* pages) const { device->unpin(pages); }
  };
  std::unique_ptr<std::byte, Unpin> pages_;
  std::string refusal_;
};

}  // namespace penstock
