// One change of the colors of an image, or none: gray levels, posterize, solarize, sharpness, and so on.
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Grayscale {
  std::int64_t channels = 1;  ///< 1 or 3
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void check() const;
  void draw(StepDraw& draw) const;
  std::int64_t channels_after(std::int64_t before) const { return channels == 1 ? 1 : before; }
};
struct RandomGrayscale {
  double probability = 0.1;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
struct RandomInvert {
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
struct RandomPosterize {
  std::int64_t bits;
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
struct RandomSolarize {
  double threshold;
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
struct RandomSharpness {
  double factor;
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
struct RandomAutocontrast {
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
struct RandomEqualize {
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
};
}  // namespace penstock::step

namespace penstock::image {
// Each changes uint8 pixels, with that probability, by the arithmetic of Pillow: equal to the last bit. Source of the
// random ones: torchvision.transforms.v2, of the same name; RandomAdjustSharpness of random_sharpness().

/// Luma: 1 channel, or 3 equal ones. Source: ITU-R 601-2, as Pillow's convert("L").
Chain grayscale(std::int64_t channels = 1);
/// Luma in every channel, as many as there are.
Chain random_grayscale(double probability = 0.1);
Chain random_invert(double probability = 0.5);                        ///< 255 - pixel
Chain random_posterize(std::int64_t bits, double probability = 0.5);  ///< the upper `bits` are kept: 0 to 8
Chain random_solarize(double threshold, double probability = 0.5);    ///< pixels not below it are inverted
Chain random_sharpness(double factor, double probability = 0.5);      ///< 0 blurs, 1 leaves alone, 2 sharpens
Chain random_autocontrast(double probability = 0.5);                  ///< each channel is stretched to 0..255
Chain random_equalize(double probability = 0.5);                      ///< each channel's histogram is made flat
}  // namespace penstock::image
