#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::RandomHorizontalFlip::table() {
  static const PixelTable<RandomHorizontalFlip> table{
      "image.random_horizontal_flip", "Swaps left and right.",
      Parameter{"probability", &RandomHorizontalFlip::probability, kProbability, "probability of flipping an image"}};
  return table;
}

void step::RandomHorizontalFlip::draw(StepDraw& draw) const {
  if (draw.happens(probability, "flipped")) draw.placement.flip();
}

const StepTable& step::RandomVerticalFlip::table() {
  static const PixelTable<RandomVerticalFlip> table{
      "image.random_vertical_flip", "Swaps top and bottom.",
      Parameter{"probability", &RandomVerticalFlip::probability, kProbability, "probability of flipping an image"}};
  return table;
}

void step::RandomVerticalFlip::draw(StepDraw& draw) const {
  if (draw.happens(probability, "flipped")) draw.placement.flip_vertically();
}

}  // namespace penstock
