// image.rand_augment() and image.trivial_augment(): operations chosen at random.
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/interpolation.hpp>

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
/// `num_ops` operations of 14, drawn at random, at magnitude number `magnitude` of `bins`. Throws Error:
/// invalid_argument, unless 0 <= magnitude < bins. interpolation, of those that move pixels: "nearest", "bilinear" or
/// "bicubic"; `fill` stands where nothing comes to lie. Source: torchvision.transforms.v2.RandAugment.
Chain rand_augment(std::int64_t num_ops = 2, std::int64_t magnitude = 9, std::int64_t bins = 31,
                   const std::string& interpolation = "nearest", Fill fill = {0});
/// One of 14 operations at a random one of `bins` magnitudes; interpolation and fill as of rand_augment().
/// Source: torchvision.transforms.v2.TrivialAugmentWide.
Chain trivial_augment(std::int64_t bins = 31, const std::string& interpolation = "nearest", Fill fill = {0});
}  // namespace penstock::image
