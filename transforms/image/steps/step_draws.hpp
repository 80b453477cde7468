// Draws the random values of the steps for pixels. Each function states the order, so that draws can be repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/image/steps/placement.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

/// The box of a random_resized_crop in an image of `size` pixels.
/// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomResizedCrop.make_params: ten tries of an area uniform in
/// `scale` and a ratio log-uniform in `ratio`, then the largest central box of an allowed ratio. Draws, in this order,
/// for each try: area, ratio, and, if the box fits, its top and its left.
Region draw_resized_crop(const step::RandomResizedCrop& crop, Size size, Random& random);

/// The box of a random_erasing in an output of `size` pixels; nothing where none is erased.
/// Source: torchvision 0.20, transforms/v2/_augment.py, RandomErasing. Draws: whether to erase; for each of ten tries
/// area and ratio, and, if the box is smaller than the output, its top and its left.
std::optional<Region> draw_erasing(const step::RandomErasing& erasing, Size size, Random& random);

/// Each adds to `placement` what the step came to, and says it in `told` where that is given.
/// Throws Error: shape, where the image is too small.
struct StepDraw {
  Placement& placement;
  Random random;
  std::string* told;  ///< null: not asked for

  void operator()(const step::RandomResizedCrop& crop);
  void operator()(const step::Resize& resize);
  void operator()(const step::CenterCrop& crop);
  void operator()(const step::RandomCrop& crop);  ///< top, left: those that have a choice
  void operator()(const step::PadImage& pad);
  void operator()(const step::RandomFlip& flip);
  void operator()(const step::RandomVerticalFlip& flip);
  void operator()(const step::RandomRotation& rotation);  ///< angle
  void operator()(const step::RandomAffine& affine);      ///< angle, shifts x and y, scale, shears x and y
  void operator()(const step::ColorJitter& jitter);  ///< whether, order (below 4, 3, 2), then each factor that there is
  void operator()(const step::Grayscale& gray);
  void operator()(const step::RandomColor& color);       ///< whether
  void operator()(const step::GaussianBlur& blur);       ///< whether (unless always), deviation
  void operator()(const step::RandAugment& augment);     ///< for each operation: which (below 14), and its sign
  void operator()(const step::TrivialAugment& augment);  ///< which, magnitude (below bins), sign: those that apply
  template <typename Other>
  void operator()(const Other&) {}

 private:
  bool happens(double probability, const char* what);
};

/// To the nearest whole number, halves to the even one, as Python's round().
std::int64_t whole_number_near(double value);
/// The fill of each of up to four channels.
std::array<std::uint8_t, 4> fill_of(const Fill& fill);

}  // namespace penstock
