#include <algorithm>

#include <loader/batch/page_pinning.hpp>

namespace penstock {

Pin PagePinning::pin(std::span<std::byte> pages) {
  Pin pin(device_, pages);
  if (!pin.refusal().empty()) {
    const std::scoped_lock lock(mutex_);
    if (refusal_.empty()) refusal_ = pin.refusal();
  }
  return pin;
}

std::string PagePinning::description() const {
  if (device_ == nullptr) return "plain memory: no device was asked for";
  const std::scoped_lock lock(mutex_);
  if (refusal_.empty()) return "page-locked memory for " + to_string(device_->id());
  return "plain memory: page-locking failed: " + refusal_;
}

PinnedMemory::PinnedMemory(PagePinning& pinning, std::uint64_t bytes) {
  if (pinning.regions() != nullptr) {
    region_ = SharedRegions::add(pinning.regions(), bytes);
  } else {
    memory_ = Memory(bytes);
  }
  pin_ = pinning.pin(first(bytes));
}

void PinnedMemory::reserve(PagePinning& pinning, std::uint64_t bytes) {
  if (bytes <= size()) return;
  const std::uint64_t grown = std::max(bytes, size() + size() / 2);
  pin_ = {};
  memory_ = {};
  region_ = {};
  *this = PinnedMemory(pinning, grown);
  pinning.provide(data(), grown);
}

}  // namespace penstock
