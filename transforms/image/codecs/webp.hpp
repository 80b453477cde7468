// Decodes WebP by libwebp, lossy and lossless.
#pragma once

#include <penstock/transforms/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB, as Pillow's convert("RGB"): alpha is dropped. A region is cut out of the whole image, which
/// libwebp decodes in any case. Animations are unsupported, and so is every file where the build has no libwebp
/// (webp_absent.cpp).
const Codec& webp_codec();

/// Whether the bytes begin as a WebP file. Source: RFC 9649, section 2.4: "RIFF", the length, "WEBP".
bool begins_as_webp(std::span<const std::byte> bytes);

}  // namespace penstock
