// image.decode(): how the pixels of an image are decoded.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Decode {
  bool fast = false;     ///< JPEGs may be decoded at a fraction of their size
  bool upright = false;  ///< turned as the EXIF block says
  bool ragged = false;   ///< rows have sizes of their own
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::image, .draws = false, .before_device = true};
};
}  // namespace penstock::step

namespace penstock::image {
/// Decoded pixels, uint8. The default layout of image outputs is (C, H, W); see channels_last().
/// `fast`: a JPEG that the chain makes at least twice smaller is decoded at 1/2, 1/4 or 1/8 of its size, and resampled
/// from there. Other pixels than without it: docs/transforms.md tells by how much. `apply_exif_orientation`: an image
/// is turned and mirrored as its EXIF block says, before all other steps, as Pillow's ImageOps.exif_transpose does it.
/// `ragged`: images keep sizes of their own, and the batch has an array for each row (Field::shapes); masks that follow
/// have them too.
inline Chain decode(bool fast = false, bool apply_exif_orientation = false, bool ragged = false) {
  return one_step(step::Decode{.fast = fast, .upright = apply_exif_orientation, .ragged = ragged});
}
}  // namespace penstock::image
