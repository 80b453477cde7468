// image.random_horizontal_flip() and image.random_vertical_flip().
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct RandomHorizontalFlip {
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.before_device = true};
  void draw(StepDraw& draw) const;
  bool moves_only() const { return true; }
};
struct RandomVerticalFlip {
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
  bool moves_only() const { return true; }
};
}  // namespace penstock::step

namespace penstock::image {
/// Left and right are exchanged, with that probability. Source: torchvision.transforms.v2.RandomHorizontalFlip.
inline Chain random_horizontal_flip(double probability = 0.5) {
  return one_step(step::RandomHorizontalFlip{.probability = probability});
}
/// Top and bottom are exchanged, with that probability. Source: torchvision.transforms.v2.RandomVerticalFlip.
inline Chain random_vertical_flip(double probability = 0.5) {
  return one_step(step::RandomVerticalFlip{.probability = probability});
}
}  // namespace penstock::image
