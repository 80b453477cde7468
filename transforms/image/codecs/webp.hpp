// Decodes lossy and lossless WebP with libwebp. Source of its magic: RFC 9649, section 2.4: "RIFF", the length, "WEBP".
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB without alpha, like Pillow's convert("RGB"). A region is cut out of the whole image, because
/// libwebp decodes all of it in any case. Animations are unsupported. In builds without libwebp, all files are
/// (webp_absent.cpp).
const Codec& webp_codec();

}  // namespace penstock
