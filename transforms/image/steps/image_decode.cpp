#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::Decode::table() {
  static const TableOf<Decode> table{
      "image.decode", "Decoded pixels: uint8 (C, H, W).",
      Parameter{
          "fast", &Decode::fast, kOption,
          "JPEGs that the chain makes at least twice smaller are decoded at 1/2, 1/4 or 1/8 of their size, which is "
          "sooner done and gives slightly other pixels"},
      Parameter{"apply_exif_orientation", &Decode::upright, kOption,
                "images are turned and mirrored as their EXIF block says, before all other steps, as Pillow's "
                "ImageOps.exif_transpose does it"},
      Parameter{
          "ragged", &Decode::ragged, kOption,
          "images keep sizes of their own: a Ragged whose rows are arrays (C, H, W), and so are those of masks that "
          "follow"}};
  return table;
}

}  // namespace penstock
