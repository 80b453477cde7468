// Tells which values are images, and how many channels their pixels have.
#pragma once

#include <cstddef>
#include <cstdint>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>

namespace penstock {

struct PixelGrid {
  Size size;
  std::int64_t channels;  ///< 1, 3 or 4
};

/// A decoded value as an image: what image codecs give (uint8, or uint16 as stored), and uint8 arrays (H, W), (H, W,
/// 1), (H, W, 3) or (H, W, 4). Throws Error: shape, for any other array ("is a float32 array (7,), not an image").
PixelGrid pixels_of(const Layout& layout);

/// Turns `count` interleaved pixels in place from `found` channels into `wanted` (1 to 3): gray is repeated, alpha is
/// dropped, both as Pillow's convert("RGB"). The memory holds the larger of both.
void match_channels(std::uint8_t* pixels, std::size_t count, std::int64_t found, std::int64_t wanted);

}  // namespace penstock
