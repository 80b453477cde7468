// The part that image codecs share: the limits of an image, and checks of what the caller asks for.
#pragma once

#include <cstdint>

#include <penstock/codec.hpp>

namespace penstock {

/// Of one decoded image; with three channels that is where Pillow refuses a "decompression bomb" (178,956,970 pixels).
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 29;

/// Throws Error: unsupported, when an image of that size is more than kMaxImageBytes; corrupt, when it has no pixels.
void check_image_size(std::uint64_t width, std::uint64_t height, std::uint64_t channels);

/// The region to decode, all of the image for null.
/// Throws Error: invalid_argument, unless it lies inside the image and `out` holds exactly its pixels.
Region checked_region(const Layout& layout, const Region* region, const TensorView& out);

}  // namespace penstock
