#include <algorithm>

#include <bench/measure/copy_loop.hpp>
#include <device/device_memory.hpp>
#include <penstock/base/memory.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kTogether =
    4;  // copies between two looks at the clock, each of pages of its own, as a loader's

}  // namespace

double copy_rate(const std::shared_ptr<Device>& device, std::uint64_t bytes, std::chrono::nanoseconds duration) {
  Memory pages;
  pages.reserve(kTogether * bytes);
  std::fill_n(pages.data(), kTogether * bytes, std::byte{1});
  const Pin pin(device, pages.first(kTogether * bytes));
  const DeviceMemory memory(device, kTogether * bytes);
  const auto stream = device->make_stream();
  const auto begun = device->make_event(), ended = device->make_event();
  std::chrono::nanoseconds copying{};
  std::uint64_t copied = 0;
  const auto start = std::chrono::steady_clock::now();
  for (bool first = true; first || copied == 0 || std::chrono::steady_clock::now() - start < duration; first = false) {
    begun->record(stream->handle());
    for (std::uint64_t at = 0; at < kTogether * bytes; at += bytes)
      device->copy_in(memory.data() + at, pages.data() + at, bytes, stream->handle());
    ended->record(stream->handle());
    ended->wait();
    if (first) continue;  // pages that nobody has read yet
    copying += device->between(*begun, *ended);
    copied += kTogether * bytes;
  }
  return static_cast<double>(copied) / std::max(1e-9, std::chrono::duration<double>(copying).count());
}

}  // namespace penstock
