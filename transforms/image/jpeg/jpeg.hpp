// Decodes JPEG to the pixels that Pillow and torchvision see: libjpeg-turbo's slow integer DCT and fancy upsampling.
// Flawless baseline files are decoded by jpeg/baseline_decoder.hpp, faster than by libjpeg-turbo and alike to the
// last bit; all others by libjpeg-turbo itself.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB; with Pixels::stored, grayscale files deliver (H, W, 1). A region is decoded without the
/// lines below and the columns beside it, and equals the same part of the whole image to the last bit. Gray is
/// replicated; CMYK and YCCK become RGB as Pillow does it (Adobe's inverted inks); the EXIF orientation is
/// applied where DecodeOptions::upright asks for it.
///
/// Data that ends before the last line needed is corrupt; other damage that libjpeg passes over (extra bytes, bad
/// entropy data) is tolerated, as Pillow does. Lossless, 12-bit, hierarchical and two-component files are unsupported,
/// and so are more than 500 scans or 1 GiB of working memory.
const Codec& jpeg_codec();

}  // namespace penstock
