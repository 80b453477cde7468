// The interface by which a device decodes batches of JPEGs, in the order of its streams.
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

/// A JPEG, and where its pixels go: RGB of uint8, row by row, on the device. Gray ones have their levels three times.
struct JpegOnDevice {
  std::span<const std::byte> jpeg;
  void* pixels = nullptr;
  std::size_t pitch = 0;  ///< bytes from a row to the next; at least 3 * width
};

class JpegDecoder {
 public:
  virtual ~JpegDecoder() = default;
  virtual std::string description() const = 0;  ///< "nvJPEG 12.4, hardware engine"

  /// Nothing for bytes that this decoder does not take; those are the processor's share. A function of the bytes alone.
  /// From any thread.
  virtual std::optional<JpegSize> size(std::span<const std::byte> jpeg) = 0;

  /// Enqueues the decoding of all of them; their bytes and pixels must stay until an event behind it is done. One call
  /// at a time. Throws Error: invalid_argument, for one that size() has nothing for; corrupt or unsupported, where
  /// bytes behind a header are found bad, and then no pixels can be relied on; resource, where the device fails.
  virtual void decode(std::span<const JpegOnDevice> images, StreamHandle stream) = 0;
};

}  // namespace penstock
