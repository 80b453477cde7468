// Owns memory of a device, and page-locked pages of the host that the device reads directly.
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
  /// Throws Error: resource, when the device has no such memory. No bytes: null.
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

/// Pages that stay pinned for as long as this lives; they are somebody else's and must outlive it.
class Pin {
 public:
  Pin() = default;
  /// Without a device, or without bytes, nothing is pinned. Never throws for a refusal: see refusal().
  Pin(std::shared_ptr<Device> device, std::span<std::byte> pages);

  bool pinned() const { return pages_ != nullptr; }
  /// Why the pages are not pinned, in the driver's words; empty where they are, or were not to be.
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
