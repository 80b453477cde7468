// Page-locks the memory of slabs. A device can then copy from it directly and in the background.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <base/memory.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>

namespace penstock {

/// Shared by the slabs of a pool. Thread-safe.
class PagePinning {
 public:
  /// `device` is null if no device is used. Nothing is page-locked then.
  explicit PagePinning(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Page-locks `pages`. If the device refuses, this object keeps the reason and later copies use the driver's own
  /// pages. Such copies are slower and do not overlap with other work.
  Pin pin(std::span<std::byte> pages);
  /// Returns "page-locked memory for cuda:0", "plain memory: no device was asked for", or "plain memory: " and the
  /// reason.
  std::string description() const;

 private:
  const std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;  // guards refusal_
  std::string refusal_;
};

/// Memory of a slab, page-locked if there is a device.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PagePinning& pinning, std::uint64_t bytes);
  std::byte* data() const { return memory_.data(); }
  std::uint64_t size() const { return memory_.size(); }
  std::span<std::byte> first(std::uint64_t bytes) const { return memory_.first(bytes); }
  /// Provides at least `bytes` and loses the contents. Memory that is large enough is kept; otherwise it grows by
  /// half or more.
  void reserve(PagePinning& pinning, std::uint64_t bytes);

 private:
  Memory memory_;
  Pin pin_;  // declared after memory_, so that the pages are unlocked before they are freed
};

}  // namespace penstock
