// Page-locks the memory of slabs, so that a device copies from it directly and while others work.
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

/// Shared by the slabs of a pool; any thread.
class PagePinning {
 public:
  /// Null: no device was asked for, and nothing is page-locked.
  explicit PagePinning(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// A refusal is remembered, and copies then go through the driver's own pages: slower, and not beside other work.
  Pin pin(std::span<std::byte> pages);
  /// "page-locked memory for cuda:0"; "plain memory: no device was asked for"; "plain memory: ..." and why.
  std::string description() const;

 private:
  const std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;  // guards refusal_
  std::string refusal_;
};

/// Memory of a slab.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PagePinning& pinning, std::uint64_t bytes);
  std::byte* data() const { return memory_.data(); }
  std::uint64_t size() const { return memory_.size(); }
  std::span<std::byte> first(std::uint64_t bytes) const { return memory_.first(bytes); }
  /// At least `bytes`, contents lost; keeps what is large enough, else grows by half at least.
  void reserve(PagePinning& pinning, std::uint64_t bytes);

 private:
  Memory memory_;
  Pin pin_;  // ends before what it pins
};

}  // namespace penstock
