// Determines which values are images, and their number of channels.
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

/// Interprets a decoded value as an image. Image codecs deliver uint8, or uint16 as stored. uint8 arrays must be (H,
/// W), (H, W, 1), (H, W, 3) or (H, W, 4). Throws Error: shape, for other arrays ("is a float32 array (7,), not an
/// image").
PixelGrid pixels_of(const Layout& layout);

/// Converts `count` interleaved pixels in place from `found` channels to `wanted` (1 to 3). Like Pillow's
/// convert("RGB"), repeats gray and drops alpha. The memory must hold the larger of both.
void match_channels(std::uint8_t* pixels, std::size_t count, std::int64_t found, std::int64_t wanted);

}  // namespace penstock
