// Decodes "jpt": photographs stored by `pack --jpeg recode`, with the same quantised coefficients as the JPEG file.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB. With Pixels::stored, gray images deliver (H, W, 1). Pixels, of the whole image or a region,
/// equal those of jpeg_codec() for the JPEG file to the last bit. Decoding a region costs only the tiles that it
/// touches. header() records the places of tiles in large fields. With them, select_region() returns the head and the
/// tiles of a region. Damaged fields are corrupt. Layout: docs/spec/formats.md and jpt/format.hpp.
const Codec& jpt_codec();

}  // namespace penstock
