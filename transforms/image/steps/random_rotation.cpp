#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::RandomRotation::table() {
  static const PixelTable<RandomRotation> table{
      "image.random_rotation",
      "Rotates counterclockwise about the middle by a uniform random angle, like torchvision's RandomRotation. The "
      "size stays.",
      Parameter{"degrees", &RandomRotation::degrees,
                required({.least = -1e6, .most = 1e6, .one = OneNumber::about_zero, .unit = "degrees"}),
                "(low, high), or x for (-x, x)"},
      interpolation_of<RandomRotation>(static_cast<int>(Interpolation::area)),
      fill_of_step<RandomRotation>("value of pixels outside the image: one number, or one for each channel")};
  return table;
}

void step::RandomRotation::draw(StepDraw& draw) const {
  const double angle = draw.random.uniform(degrees.low, degrees.high);
  draw.tell([&] { return "drew " + short_text(angle) + " degrees"; });
  draw.placement.warp(rotation(angle, draw.placement.output()), interpolation, fill_of(fill));
}

Chain image::random_rotation(Range degrees, const std::string& interpolation, Fill fill) {
  step::RandomRotation rotation{.degrees = degrees, .fill = std::move(fill)};
  choose(rotation, "interpolation", interpolation);
  return one_step(std::move(rotation));
}

}  // namespace penstock
