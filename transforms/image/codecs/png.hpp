// Decodes PNG: libdeflate and our own filters for plain files, libspng for interlaced and doubtful ones.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB as Pillow's convert("RGB") does, without alpha; of 16 bits the upper 8, of gray too. With
/// Pixels::stored, files of one channel deliver (H, W, 1): gray levels or palette indices as stored, without alpha; and
/// files of 16 bits uint16, (H, W, 1) or (H, W, 3).
///
/// A wrong checksum of a chunk or of the pixels, data that ends early and chunks out of order are corrupt.
const Codec& png_codec();

}  // namespace penstock
