// Encodes 8-bit pixels as JPEG and PNG bytes, for the workload generators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct JpegStyle {
  int quality = 90;
  bool grayscale = false;  ///< one component: the luminance of the pixels
  bool progressive = false;
};

/// `pixels` are width * height RGB triples; colour images are written 4:2:0. Throws Error: resource.
std::vector<std::byte> encode_jpeg(std::span<const std::uint8_t> pixels, std::uint32_t width, std::uint32_t height,
                                   const JpegStyle& style);
/// Throws Error: resource.
std::vector<std::byte> encode_png(std::span<const std::uint8_t> pixels, std::uint32_t width, std::uint32_t height);

}  // namespace penstock
