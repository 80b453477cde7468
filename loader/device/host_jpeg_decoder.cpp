#include <cstring>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>
#include <penstock/loader/device/host_jpeg_decoder.hpp>

namespace penstock {
namespace {

const Codec& jpeg() {
  return *codec_named("jpeg");
}

JpegSize size_of_image(const Layout& layout) {
  return {static_cast<std::int32_t>(layout.shape[1]), static_cast<std::int32_t>(layout.shape[0])};
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

}  // namespace penstock
