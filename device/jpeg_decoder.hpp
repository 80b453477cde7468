// Interface of a device that decodes batches of JPEGs, in the order of its streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <device/device.hpp>

namespace penstock {

struct JpegSize {
  std::int32_t width, height;
  friend bool operator==(const JpegSize&, const JpegSize&) = default;
};

/// A JPEG, and the destination of its pixels on the device: uint8 RGB, row by row. Gray levels are repeated three
/// times.
struct JpegOnDevice {
  std::span<const std::byte> jpeg;
  void* pixels = nullptr;
  std::size_t pitch = 0;  ///< bytes from one row to the next; at least 3 * width
};

class JpegDecoder {
 public:
  virtual ~JpegDecoder() = default;
  virtual std::string description() const = 0;  ///< "nvJPEG 12.4, hardware engine"

  /// Returns nothing for data that this decoder does not support; the CPU decodes such images. Depends only on the
  /// bytes. Thread-safe.
  virtual std::optional<JpegSize> size(std::span<const std::byte> jpeg) = 0;

  /// Enqueues the decoding of all images. Their bytes and pixels must stay until an event after it is done. Calls must
  /// not overlap. Throws Error: invalid_argument, if size() returns nothing for one of them; resource, if the device
  /// fails. Invalid bytes after a header throw corrupt or unsupported, and leave all pixels undefined.
  virtual void decode(std::span<const JpegOnDevice> images, StreamHandle stream) = 0;
};

}  // namespace penstock
