#include <utility>

#include <device/device_memory.hpp>
#include <penstock/error.hpp>

namespace penstock {

DeviceMemory::DeviceMemory(std::shared_ptr<Device> device, std::uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  auto* data = static_cast<std::byte*>(device->allocate(bytes));
  data_ = {data, Deallocate{std::move(device)}};
}

Pin::Pin(std::shared_ptr<Device> device, std::span<std::byte> pages) {
  if (device == nullptr || pages.empty()) return;
  try {
    device->pin(pages.data(), pages.size());
    pages_ = {pages.data(), Unpin{std::move(device)}};
  } catch (const Error& error) {
    refusal_ = error.cause();
  }
}

}  // namespace penstock
