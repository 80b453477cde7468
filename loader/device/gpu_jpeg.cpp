#include <cstdio>

#include <penstock/base/error.hpp>
#include <penstock/device/cuda/nvjpeg.hpp>
#include <penstock/device/host/host_device.hpp>
#include <penstock/loader/device/gpu_direct.hpp>
#include <penstock/loader/device/gpu_jpeg.hpp>
#include <penstock/loader/device/host_jpeg_decoder.hpp>

namespace penstock {
namespace {

std::shared_ptr<JpegDecoder> decoder_of(const LoaderOptions& options) {
  if (options.on_device_jpeg != nullptr) return options.on_device_jpeg;
  if (auto host = std::dynamic_pointer_cast<HostDevice>(options.on_device))
    return std::make_shared<HostJpegDecoder>(std::move(host));
  return std::make_shared<NvJpegDecoder>(options.on_device);
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%g %%", 100 * share);
  return text;
}

}  // namespace

GpuJpeg gpu_jpeg_of(const LoaderOptions& options, std::span<const Output> outputs) {
  if (options.gpu_jpeg <= 0) return {};
  std::vector<std::uint8_t> chosen;
  for (const Output& output : outputs) chosen.push_back(output.has_geometry ? 1 : 0);
  const std::string names = names_of(outputs, chosen);
  const std::string not_used = "not used: ";
  if (names.empty()) {
    return {.said = not_used +
                    "no output's images cross as uint8 pixels, made by crops, resizes and flips alone (normalize() or "
                    "cast() on the device, or channels_last() of uint8)"};
  }
  try {
    auto jpegs =
        std::make_shared<DeviceJpegs>(options.on_device, decoder_of(options), options.gpu_jpeg, options.gpu_jpeg_bytes);
    std::string said = percent(options.gpu_jpeg) + " by " + jpegs->decoder().description() + ": " + names;
    return {.jpegs = std::move(jpegs), .outputs = std::move(chosen), .said = std::move(said)};
  } catch (const Error& error) {
    return {.said = not_used + error.cause()};
  }
}

}  // namespace penstock
