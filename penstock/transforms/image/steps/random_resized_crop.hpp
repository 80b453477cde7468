// image.random_resized_crop(): a random box, resampled to one size.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock::step {
struct RandomResizedCrop {
  Size size;
  Range scale{0.08, 1.0};             ///< of the area
  Range ratio{3.0 / 4.0, 4.0 / 3.0};  ///< width / height, log-uniform
  Interpolation interpolation = Interpolation::bilinear;
  static const StepTable& table();
  static constexpr Traits kTraits{.before_device = true};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size>) const { return size; }
  /// The box in an image of that size: draw_box(), or else the largest central box of an allowed ratio.
  /// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomResizedCrop.make_params.
  Region box(Size image, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// A random box of `scale` of the area and `ratio` (width / height, log-uniform), resampled to size x size,
/// antialiased. interpolation: "nearest", "area", "bilinear" or "bicubic".
/// Source: torchvision.transforms.v2.RandomResizedCrop.
Chain random_resized_crop(std::int64_t size, std::pair<double, double> scale = {0.08, 1.0},
                          std::pair<double, double> ratio = {3.0 / 4.0, 4.0 / 3.0},
                          const std::string& interpolation = "bilinear");
/// Resampled to `height` x `width`.
Chain random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                          std::pair<double, double> ratio, const std::string& interpolation = "bilinear");
}  // namespace penstock::image
