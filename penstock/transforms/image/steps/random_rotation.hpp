// image.random_rotation(): an image is turned about its middle.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/interpolation.hpp>

namespace penstock::step {
struct RandomRotation {
  Range degrees;
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< angle
};
}  // namespace penstock::step

namespace penstock::image {
/// By a uniform angle in `degrees`, counterclockwise about the middle; the size stays, and `fill` stands where nothing
/// comes to lie. interpolation: "nearest", "bilinear" or "bicubic". Source: torchvision.transforms.v2.RandomRotation.
Chain random_rotation(Range degrees, const std::string& interpolation = "nearest", Fill fill = {0});
}  // namespace penstock::image
