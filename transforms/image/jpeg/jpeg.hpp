// Decodes JPEG to the same pixels as Pillow and torchvision: libjpeg-turbo's slow integer DCT and fancy upsampling.
// Intact baseline files are decoded by baseline_decoder.hpp, which is faster than libjpeg-turbo and gives identical
// pixels. All other files are decoded by libjpeg-turbo.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers (H, W, 3) RGB. With Pixels::stored, grayscale files deliver (H, W, 1). A region is decoded without the
/// lines below it and the columns beside it, and equals the same part of the whole image to the last bit. Gray is
/// replicated. CMYK and YCCK become RGB like in Pillow (Adobe's inverted inks). The EXIF orientation is applied if
/// DecodeOptions::upright is set.
///
/// Data that ends before the last needed line is corrupt. Other damage that libjpeg tolerates (extra bytes, bad entropy
/// data) is tolerated here too, as in Pillow. Lossless, 12-bit, hierarchical and two-component files are unsupported,
/// and so are more than 500 scans or 1 GiB of working memory.
const Codec& jpeg_codec();

}  // namespace penstock
