#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::CenterCrop::table() {
  static const PixelTable<CenterCrop> table{
      "image.center_crop",
      "Crops the middle. Offsets are rounded half to even, like torchvision. A smaller image is a shape error.",
      Parameter{"size", &CenterCrop::size, required({.least = 1, .one = OneNumber::square, .unit = "pixels"}),
                "one number, or (height, width)"}};
  return table;
}

// Source: torchvision 0.20, transforms/functional.py, center_crop. Images smaller than the crop are not padded here.
void step::CenterCrop::draw(StepDraw& draw) const {
  const Size before = draw.placement.output();
  if (size.width > before.width || size.height > before.height) {
    throw Error::shape("image.center_crop() of " + short_text(size) + " does not fit an image of " +
                       short_text(before) + " pixels; put image.resize() before it");
  }
  const Region region{whole_number_near(static_cast<double>(before.width - size.width) / 2.0),
                      whole_number_near(static_cast<double>(before.height - size.height) / 2.0), size.width,
                      size.height};
  draw.tell([&] { return short_text(region) + " of " + short_text(before); });
  draw.placement.crop(region);
}

}  // namespace penstock
