// Decodes PNG. Plain files use libdeflate and our own filters, interlaced and unusual files use libspng.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB without alpha, like Pillow's convert("RGB"). Samples of 16 bits, also gray ones, deliver
/// their upper 8 bits. With Pixels::stored, files of one channel deliver (H, W, 1): gray levels or palette indices as
/// stored, without alpha. Files of 16 bits then deliver uint16, (H, W, 1) or (H, W, 3).
///
/// A wrong checksum of a chunk or of the pixels, truncated data and chunks out of order are corrupt.
const Codec& png_codec();

}  // namespace penstock
