// Decodes "jpt": photographs as `pack --jpeg recode` stores them, the same quantised coefficients as the JPEG file.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB; with Pixels::stored, gray images deliver (H, W, 1). Pixels are those of jpeg_codec() for the
/// JPEG file, to the last bit, whole or in part. A region costs the tiles it touches, wherever they are.
/// header() keeps where the tiles of large fields lie; select_region() then names the head and the tiles of a region.
/// docs/formats.md gives the layout (jpt/format.hpp); what is damaged is corrupt.
const Codec& jpt_codec();

}  // namespace penstock
