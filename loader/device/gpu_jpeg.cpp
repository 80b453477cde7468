#include <cstdio>
#include <cstring>
#include <utility>

#include <device/cuda/nvjpeg.hpp>
#include <loader/device/gpu_direct.hpp>
#include <loader/device/gpu_jpeg.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

const Codec& jpeg() {
  return *codec_named("jpeg");
}

JpegSize size_of_image(const Layout& layout) {
  return {static_cast<std::int32_t>(layout.shape[1]), static_cast<std::int32_t>(layout.shape[0])};
}

std::shared_ptr<JpegDecoder> decoder_of(const LoaderOptions& options) {
  if (options.device_options.jpeg_decoder != nullptr) return options.device_options.jpeg_decoder;
  if (auto host = std::dynamic_pointer_cast<HostDevice>(options.device_options.opened))
    return std::make_shared<HostJpegDecoder>(std::move(host));
  return std::make_shared<NvJpegDecoder>(options.device_options.opened);
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%g %%", 100 * share);
  return text;
}

}  // namespace

HostJpegDecoder::HostJpegDecoder(std::shared_ptr<HostDevice> device)
    : device_(std::move(device)),
      schema_{.name = "jpeg", .codec = "jpeg"},
      decoder_(jpeg().decoder(schema_)),
      headers_(jpeg().decoder(schema_)) {}

std::optional<JpegSize> HostJpegDecoder::size(std::span<const std::byte> bytes) {
  if (!jpeg().recognises(bytes)) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  try {
    return size_of_image(headers_->peek({.schema = &schema_, .bytes = bytes}));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void HostJpegDecoder::decode(std::span<const JpegOnDevice> images, StreamHandle stream) {
  for (const JpegOnDevice& image : images) {
    const FieldBytes field{.schema = &schema_, .bytes = image.jpeg};
    const auto pixels = std::make_shared<std::vector<std::byte>>();
    const Layout layout = decoder_->peek(field);
    pixels->resize(element_count(layout.shape));
    decoder_->decode(field, nullptr, {pixels->data(), DType::u8, layout.shape});
    device_->enqueue(stream, [pixels, image, size = size_of_image(layout)] {
      const std::size_t line = 3 * static_cast<std::size_t>(size.width);
      for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) {
        std::memcpy(static_cast<std::byte*>(image.pixels) + y * image.pitch, pixels->data() + y * line, line);
      }
    });
  }
}

GpuJpeg gpu_jpeg_of(const LoaderOptions& options, std::span<const Output> outputs) {
  if (options.device_options.gpu_jpeg <= 0) return {};
  std::vector<std::uint8_t> chosen;
  for (const Output& output : outputs) chosen.push_back(output.has_geometry ? 1 : 0);
  const std::string names = names_of(outputs, chosen);
  const std::string not_used = "not used: ";
  if (names.empty()) {
    return {.said = not_used +
                    "no output has images that are copied to the device as uint8 pixels after only crops, resizes and "
                    "flips (normalize() or cast() on the device, or channels_last() of uint8)"};
  }
  try {
    auto jpegs = std::make_shared<DeviceJpegs>(options.device_options.opened, decoder_of(options),
                                               options.device_options.gpu_jpeg, options.device_options.gpu_jpeg_bytes);
    std::string said =
        percent(options.device_options.gpu_jpeg) + " by " + jpegs->decoder().description() + ": " + names;
    return {.jpegs = std::move(jpegs), .outputs = std::move(chosen), .said = std::move(said)};
  } catch (const Error& error) {
    return {.said = not_used + error.cause()};
  }
}

}  // namespace penstock
