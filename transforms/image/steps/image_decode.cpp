#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::Decode::table() {
  static const TableOf<Decode> table{
      "image.decode", "Decoded pixels: uint8 (C, H, W).",
      Parameter{"fast", &Decode::fast, kOption,
                "decodes JPEGs at 1/2, 1/4 or 1/8 of their size if the chain makes them at least twice smaller; "
                "faster, but pixels differ slightly"},
      Parameter{"apply_exif_orientation", &Decode::upright, kOption,
                "rotates and mirrors images by their EXIF orientation before all other steps, like Pillow's "
                "ImageOps.exif_transpose"},
      Parameter{
          "ragged", &Decode::ragged, kOption,
          "images keep their sizes: the output is a Ragged of arrays (C, H, W), and so are masks that follow it"}};
  return table;
}

}  // namespace penstock
