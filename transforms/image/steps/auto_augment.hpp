// image.rand_augment() and image.trivial_augment(): operations chosen at random.
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/interpolation.hpp>
#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>

namespace penstock::step {
struct RandAugment {
  std::int64_t num_ops = 2, magnitude = 9, bins = 31;
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void check() const;
  void draw(StepDraw& draw) const;  ///< for each operation: which (below 14), and its sign
};
struct TrivialAugment {
  std::int64_t bins = 31;
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< which, magnitude (below bins), sign: those that apply
};
}  // namespace penstock::step

namespace penstock::image {
/// `num_ops` of 14 operations at one of `bins` magnitudes. Source: torchvision.transforms.v2.RandAugment.
Chain rand_augment(std::int64_t num_ops = 2, std::int64_t magnitude = 9, std::int64_t bins = 31,
                   const std::string& interpolation = "nearest", Fill fill = {0});
/// One of 14 operations at a random magnitude. Source: torchvision.transforms.v2.TrivialAugmentWide.
Chain trivial_augment(std::int64_t bins = 31, const std::string& interpolation = "nearest", Fill fill = {0});
}  // namespace penstock::image
