// The part that image codecs share: limits of an image, and checks of the caller's request.
#pragma once

#include <cstdint>

#include <penstock/codec.hpp>

namespace penstock {

/// Limit for one decoded image. With three channels, it is Pillow's limit against a "decompression bomb" (178,956,970
/// pixels).
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 29;

/// Throws Error: unsupported, if the image has more than kMaxImageBytes; corrupt, if it has no pixels.
void check_image_size(std::uint64_t width, std::uint64_t height, std::uint64_t channels);

/// Returns the region to decode. Null means the whole image.
/// Throws Error: invalid_argument, unless the region is inside the image and `out` holds exactly its pixels.
Region checked_region(const Layout& layout, const Region* region, const TensorView& out);

}  // namespace penstock
