// Decodes WebP by libwebp, lossy and lossless. Source of its magic: RFC 9649, section 2.4: "RIFF", the length, "WEBP".
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB, as Pillow's convert("RGB"): alpha is dropped. A region is cut out of the whole image, which
/// libwebp decodes in any case. Animations are unsupported, and so is every file where the build has no libwebp
/// (webp_absent.cpp).
const Codec& webp_codec();

}  // namespace penstock
