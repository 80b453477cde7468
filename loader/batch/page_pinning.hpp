// Provides the memory of slabs: page-locked, so that a device can copy from it directly and in the background, or in
// regions that other processes map.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <base/memory.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <loader/node_memory/shared_pages.hpp>

namespace penstock {

/// Shared by the slabs of a pool. Thread-safe.
class PagePinning {
 public:
  /// `device` is null if no device is used. Nothing is page-locked then.
  /// `regions` is null if no other process may map the memory.
  explicit PagePinning(std::shared_ptr<Device> device, std::shared_ptr<SharedRegions> regions = nullptr)
      : device_(std::move(device)), regions_(std::move(regions)) {}

  /// Page-locks `pages`. If the device refuses, this object keeps the reason and later copies use the driver's own
  /// pages. Such copies are slower and do not overlap with other work.
  Pin pin(std::span<std::byte> pages);
  /// Returns "page-locked memory for cuda:0", "plain memory: no device was asked for", or "plain memory: " and the
  /// reason.
  std::string description() const;
  const std::shared_ptr<SharedRegions>& regions() const { return regions_; }
  /// Must come before the first access to memory of a region. Throws Error: resource.
  void provide(const std::byte* data, std::uint64_t bytes) const {
    if (regions_ != nullptr) regions_->provide(data, bytes);
  }

 private:
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<SharedRegions> regions_;
  mutable std::mutex mutex_;  // guards refusal_
  std::string refusal_;
};

/// Memory of a slab, page-locked if there is a device. Memory in a region must be provided before its first access.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PagePinning& pinning, std::uint64_t bytes);
  std::byte* data() const { return region_.data() != nullptr ? region_.data() : memory_.data(); }
  std::uint64_t size() const { return region_.data() != nullptr ? region_.size() : memory_.size(); }
  std::span<std::byte> first(std::uint64_t bytes) const { return {data(), static_cast<std::size_t>(bytes)}; }
  /// Provides at least `bytes` and loses the contents. Memory that is large enough is kept; otherwise it grows by
  /// half or more.
  void reserve(PagePinning& pinning, std::uint64_t bytes);

 private:
  Memory memory_;
  SharedRegions::Region region_;  // instead of memory_
  Pin pin_;                       // declared after both, so that the pages are unlocked before they are freed
};

}  // namespace penstock
