#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include <penstock/transforms/image/steps/auto_augment.hpp>
#include <penstock/transforms/image/steps/short_text.hpp>

namespace penstock {
namespace {

enum Operation : std::int64_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
};

constexpr std::array<std::string_view, kAugmentations> kNames{
    "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
    "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize"};

bool has_sign(std::int64_t operation) {
  return operation >= shear_x && operation <= sharpness;
}

// Source: torch.linspace in float32 on a processor: from the nearer end, product and sum rounded once.
double linear(float from, float to, std::int64_t bin, std::int64_t bins) {
  const float step = (to - from) / static_cast<float>(bins - 1);
  return static_cast<double>(bin < bins / 2 ? std::fma(step, static_cast<float>(bin), from)
                                            : std::fma(-step, static_cast<float>(bins - 1 - bin), to));
}

// In float32, to the nearest, halves to the even one.
double bits_kept(std::int64_t bin, std::int64_t bins, double most_lost) {
  const auto bins_for_a_bit = static_cast<float>(static_cast<double>(bins - 1) / most_lost);
  return static_cast<double>(std::nearbyint(8.0F - static_cast<float>(bin) / bins_for_a_bit));
}

double magnitude_of(const AugmentChoice& choice, Size size) {
  const bool wide = choice.space == AugmentSpace::trivial_wide;
  const auto up_to = [&choice](double most) { return linear(0, static_cast<float>(most), choice.bin, choice.bins); };
  switch (choice.operation) {
    case shear_x:
    case shear_y:
      return up_to(wide ? 0.99 : 0.3);
    case translate_x:
      return up_to(wide ? 32.0 : 150.0 / 331.0 * static_cast<double>(size.width));
    case translate_y:
      return up_to(wide ? 32.0 : 150.0 / 331.0 * static_cast<double>(size.height));
    case rotate:
      return up_to(wide ? 135.0 : 30.0);
    case brightness:
    case color:
    case contrast:
    case sharpness:
      return up_to(wide ? 0.99 : 0.9);
    case posterize:
      return bits_kept(choice.bin, choice.bins, wide ? 6 : 4);
    case solarize:
      return linear(1, 0, choice.bin, choice.bins);
    default:
      return 0;
  }
}

void add(Placement& placement, const AugmentChoice& choice, double magnitude) {
  const Size size = placement.output();
  const auto warp = [&](const AffineDraw& draw, double x, double y) {
    placement.warp(inverse_affine(draw, x, y), choice.interpolation, choice.fill);
  };
  const double middle_x = static_cast<double>(size.width) * 0.5, middle_y = static_cast<double>(size.height) * 0.5;
  const double shear = std::atan(magnitude) * (180 / std::numbers::pi);
  switch (choice.operation) {
    case shear_x:
      return warp({.shear_x = shear}, 0, 0);
    case shear_y:
      return warp({.shear_y = shear}, 0, 0);
    case translate_x:
      return warp({.translate_x = std::trunc(magnitude)}, middle_x, middle_y);
    case translate_y:
      return warp({.translate_y = std::trunc(magnitude)}, middle_x, middle_y);
    case rotate:
      return placement.warp(rotation(magnitude, size), choice.interpolation, choice.fill);
    case brightness:
      return placement.color({ColorKind::brightness, 1 + magnitude});
    case color:
      return placement.color({ColorKind::saturation, 1 + magnitude});
    case contrast:
      return placement.color({ColorKind::contrast, 1 + magnitude});
    case sharpness:
      return placement.color({ColorKind::sharpness, 1 + magnitude});
    case posterize:
      return placement.color({ColorKind::posterize, magnitude});
    case solarize:
      return placement.color({ColorKind::solarize, 255 * magnitude});
    case auto_contrast:
      return placement.color({ColorKind::autocontrast});
    case equalize:
      return placement.color({ColorKind::equalize});
    default:
      return;
  }
}

}  // namespace

bool has_magnitude(std::int64_t operation) {
  return operation != identity && operation != auto_contrast && operation != equalize;
}

void augment(Placement& placement, const AugmentChoice& choice, Random& random, std::string* told) {
  double magnitude = magnitude_of(choice, placement.output());
  if (has_sign(choice.operation) && random.uniform() <= 0.5) magnitude = -magnitude;
  add(placement, choice, magnitude);
  if (told == nullptr) return;
  if (!told->empty()) *told += ", ";
  *told += kNames[static_cast<std::size_t>(choice.operation)];
  if (has_magnitude(choice.operation)) *told += " " + short_text(magnitude);
}

}  // namespace penstock
