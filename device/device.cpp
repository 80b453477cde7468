#include <charconv>

#include <penstock/device.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr int kMostDevices = 1024;

}  // namespace

std::string to_string(const DeviceId& device) {
  return (device.kind == DeviceId::Kind::cuda ? "cuda:" : "host:") + std::to_string(device.number);
}

DeviceId device_named(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  DeviceId device;
  bool known = kind == "cuda" || kind == "host";
  if (kind == "cuda") device.kind = DeviceId::Kind::cuda;
  if (colon != std::string_view::npos) {
    const std::string_view number = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device.number);
    known = known && error == std::errc() && end == number.data() + number.size() && device.number >= 0 &&
            device.number < kMostDevices;
  }
  if (!known) {
    throw Error::invalid_argument("device must be \"cuda\", \"cuda:N\" or \"host\", not \"" + std::string(name) + "\"");
  }
  return device;
}

}  // namespace penstock
