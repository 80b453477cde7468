// image.color_jitter(): brightness, contrast, saturation and hue, in a random order.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>

namespace penstock::step {
struct ColorJitter {
  Range brightness{1, 1}, contrast{1, 1}, saturation{1, 1};  ///< factors; (1, 1), and (0, 0) of hue: left alone
  Range hue;
  double probability = 1;
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< whether (unless always), order (below 4, 3, 2), then each factor that there is
};
}  // namespace penstock::step

namespace penstock::image {
/// Ranges of factors, of -0.5 to 0.5 turns of hue, and the probability of doing anything.
using JitterKeywords = step::ColorJitter;
/// Brightness, contrast, saturation and hue of uint8 pixels, in a random order, by uniform numbers.
/// Source: torchvision.transforms.v2.ColorJitter; the arithmetic is Pillow's, equal to the last bit.
inline Chain color_jitter(const JitterKeywords& keywords) {
  return one_step(keywords);
}
/// Factors from max(0, 1 - x) to 1 + x; hue from -hue to hue. Throws Error: invalid_argument for negative numbers.
Chain color_jitter(double brightness, double contrast = 0, double saturation = 0, double hue = 0,
                   double probability = 1);
}  // namespace penstock::image
