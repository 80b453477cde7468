#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::PadImage::table() {
  static const PixelTable<PadImage> table{
      "image.pad", "Adds pixels at the edges, like torchvision's Pad.",
      Parameter{"padding", &PadImage::padding, required({.least = 0, .most = 65536, .unit = "pixels"}),
                "one number, (left and right, top and bottom), or (left, top, right, bottom)"},
      fill_of_step<PadImage>("for `constant`: one number, or one for each channel"),
      Parameter{"padding_mode", &PadImage::padding_mode, kOption, "values of the pixels outside the image"}};
  return table;
}

void step::PadImage::draw(StepDraw& draw) const {
  draw.tell([&] {
    return short_text(draw.placement.output()) + " by " + std::to_string(padding.left) + ", " +
           std::to_string(padding.top) + ", " + std::to_string(padding.right) + ", " + std::to_string(padding.bottom);
  });
  if (padding != Padding{}) draw.placement.pad(padding, padding_mode, fill_of(fill));
}

std::optional<Size> step::PadImage::size_after(std::optional<Size> before) const {
  if (!before) return std::nullopt;
  return Size{before->width + padding.left + padding.right, before->height + padding.top + padding.bottom};
}

Chain image::pad(const Padding& padding, const PadKeywords& keywords) {
  step::PadImage pad{.padding = padding, .fill = keywords.fill};
  choose(pad, "padding_mode", keywords.padding_mode);
  return one_step(pad);
}

}  // namespace penstock
