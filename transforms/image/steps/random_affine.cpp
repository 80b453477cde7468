#include <cmath>

#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::RandomAffine::table() {
  static const PixelTable<RandomAffine> table{
      "image.random_affine",
      "Rotates (clockwise), shifts, scales and shears about the middle, like torchvision's RandomAffine. The size "
      "stays.",
      Parameter{"degrees", &RandomAffine::degrees,
                required({.least = -1e6, .most = 1e6, .one = OneNumber::about_zero, .unit = "degrees"}),
                "(low, high), or x for (-x, x)"},
      Parameter{"translate", &RandomAffine::translate, option(kProbability),
                "largest shift to either side, as parts of width and height"},
      Parameter{"scale", &RandomAffine::scale, option({.least = 0.001, .most = 1000}), "factor: (low, high)"},
      Parameter{"shear", &RandomAffine::shear,
                option({.least = -89, .most = 89, .one = OneNumber::about_zero, .unit = "degrees"}),
                "along x: x for (-x, x), or (low, high); along both axes: (x low, x high, y low, y high)"},
      interpolation_of<RandomAffine>(static_cast<int>(Interpolation::area)),
      fill_of_step<RandomAffine>("value of pixels outside the image: one number, or one for each channel")};
  return table;
}

void step::RandomAffine::draw(StepDraw& draw) const {
  const Size size = draw.placement.output();
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  const auto shift = [&draw](double most) { return std::nearbyint(draw.random.uniform(-most, most)); };
  AffineDraw drawn;
  drawn.degrees = draw.random.uniform(degrees.low, degrees.high);
  drawn.translate_x = shift(translate.first * width);
  drawn.translate_y = shift(translate.second * height);
  drawn.scale = draw.random.uniform(scale.low, scale.high);
  drawn.shear_x = draw.random.uniform(shear[0].low, shear[0].high);
  drawn.shear_y = draw.random.uniform(shear[1].low, shear[1].high);
  draw.tell([&] {
    return "drew " + short_text(drawn.degrees) + " degrees, shift " + short_text(drawn.translate_x) + ", " +
           short_text(drawn.translate_y) + ", scale " + short_text(drawn.scale) + ", shear " +
           short_text(drawn.shear_x) + ", " + short_text(drawn.shear_y);
  });
  draw.placement.warp(inverse_affine(drawn, width * 0.5, height * 0.5), interpolation, fill_of(fill));
}

Chain image::random_affine(Range degrees, const AffineKeywords& keywords) {
  step::RandomAffine affine{.degrees = degrees,
                            .translate = {keywords.translate_x, keywords.translate_y},
                            .scale = keywords.scale,
                            .shear = {keywords.shear_x, keywords.shear_y},
                            .fill = keywords.fill};
  choose(affine, "interpolation", keywords.interpolation);
  return one_step(std::move(affine));
}

}  // namespace penstock
