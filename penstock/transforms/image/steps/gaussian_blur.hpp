// image.gaussian_blur(): an image is blurred by a random deviation.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock::step {
struct GaussianBlur {
  Size kernel_size;
  Range sigma{0.1, 2.0};
  double probability = 1;
  static const StepTable& table();
  void check() const;
  void draw(StepDraw& draw) const;  ///< whether (unless always), deviation
};
}  // namespace penstock::step

namespace penstock::image {
/// `kernel_size` pixels wide and high, odd, 1023 at most; mirrored at the edges. The deviation is uniform in `sigma`,
/// in pixels. Source: torchvision.transforms.v2.GaussianBlur.
Chain gaussian_blur(std::int64_t kernel_size, Range sigma = {0.1, 2.0}, double probability = 1);
inline Chain gaussian_blur(std::int64_t kernel_height, std::int64_t kernel_width, Range sigma, double probability = 1) {
  return one_step(step::GaussianBlur{
      .kernel_size = {.width = kernel_width, .height = kernel_height}, .sigma = sigma, .probability = probability});
}
}  // namespace penstock::image
