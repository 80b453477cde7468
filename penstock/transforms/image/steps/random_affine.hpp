// image.random_affine(): a random rotation, shift, scale and shear.
#pragma once

#include <array>

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/interpolation.hpp>

namespace penstock::step {
struct RandomAffine {
  Range degrees;
  std::pair<double, double> translate{0, 0};  ///< at most this part of the width and height, to either side
  Range scale{1, 1};
  std::array<Range, 2> shear{};  ///< along x and y, in degrees
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< angle, shifts x and y, scale, shears x and y
};
}  // namespace penstock::step

namespace penstock::image {
struct AffineKeywords {
  double translate_x = 0, translate_y = 0;  ///< at most this part of the width and height, to either side
  Range scale{1, 1};
  Range shear_x{0, 0}, shear_y{0, 0};     ///< degrees
  std::string interpolation = "nearest";  ///< or "bilinear", "bicubic"
  Fill fill = {0};                        ///< where nothing comes to lie
};
/// About the middle, by uniform numbers; clockwise, unlike random_rotation(). The size stays.
/// Source: torchvision.transforms.v2.RandomAffine.
Chain random_affine(Range degrees, const AffineKeywords& keywords = {});
}  // namespace penstock::image
