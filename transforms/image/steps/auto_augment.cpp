#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include <base/numbers/portable_math.hpp>
#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

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

constexpr std::size_t kAugmentations = 14;

constexpr std::array<std::string_view, kAugmentations> kNames{
    "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
    "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize"};

/// Ranges of the operations. Source: torchvision 0.20, transforms/v2/_auto_augment.py, _AUGMENTATION_SPACE.
enum class AugmentSpace : std::uint8_t { rand, trivial_wide };

struct AugmentChoice {
  AugmentSpace space;
  std::int64_t operation;
  std::int64_t bin, bins;  ///< the magnitude
  Interpolation interpolation;
  std::array<std::uint8_t, 4> fill;
};

bool has_sign(std::int64_t operation) {
  return operation >= shear_x && operation <= sharpness;
}

// Source: torch.linspace in float32 on a processor: from the nearer end, product and sum rounded once.
double linear(float from, float to, std::int64_t bin, std::int64_t bins) {
  const float step = (to - from) / static_cast<float>(bins - 1);
  return static_cast<double>(bin < bins / 2 ? std::fma(step, static_cast<float>(bin), from)
                                            : std::fma(-step, static_cast<float>(bins - 1 - bin), to));
}

// In float32, rounded to nearest, halves to even.
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
  const double shear = portable::atan(magnitude) * (180 / std::numbers::pi);
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

/// Returns whether the operation has magnitudes to choose from.
bool has_magnitude(std::int64_t operation) {
  return operation != identity && operation != auto_contrast && operation != equalize;
}

/// Adds the operation. Draws its sign if it has one, and reports the result: "ShearX -0.09".
void augment(StepDraw& draw, const AugmentChoice& choice) {
  double magnitude = magnitude_of(choice, draw.placement.output());
  if (has_sign(choice.operation) && draw.random.uniform() <= 0.5) magnitude = -magnitude;
  add(draw.placement, choice, magnitude);
  draw.tell([&] {
    return *draw.told + (draw.told->empty() ? "" : ", ") +
           std::string(kNames[static_cast<std::size_t>(choice.operation)]) +
           (has_magnitude(choice.operation) ? " " + short_text(magnitude) : "");
  });
}

constexpr Rules kBins{.least = 2, .most = 10000};

}  // namespace

const StepTable& step::RandAugment::table() {
  static const PixelTable<RandAugment> table{
      "image.rand_augment",
      "Applies random operations of 14, all at one magnitude, like torchvision's RandAugment.",
      Parameter{"num_ops", &RandAugment::num_ops, {.least = 0, .most = 100}, "number of operations"},
      Parameter{"magnitude",
                &RandAugment::magnitude,
                {.least = 0, .most = 9999},
                "strength of the operations, from 0 to `bins` - 1"},
      Parameter{"bins", &RandAugment::bins, kBins, "number of magnitudes"},
      interpolation_of<RandAugment>(static_cast<int>(Interpolation::area)),
      fill_of_step<RandAugment>("value of pixels outside the image: one number, or one for each channel")};
  return table;
}

void step::RandAugment::check() const {
  if (bins > 1 && (magnitude < 0 || magnitude >= bins))
    throw Error::invalid_argument("image.rand_augment() needs a magnitude from 0 to bins - 1");
}

void step::RandAugment::draw(StepDraw& draw) const {
  for (std::int64_t i = 0; i < num_ops; ++i) {
    const auto operation = static_cast<std::int64_t>(draw.random.below(kAugmentations));
    augment(draw, {.space = AugmentSpace::rand,
                   .operation = operation,
                   .bin = magnitude,
                   .bins = bins,
                   .interpolation = interpolation,
                   .fill = fill_of(fill)});
  }
}

const StepTable& step::TrivialAugment::table() {
  static const PixelTable<TrivialAugment> table{
      "image.trivial_augment",
      "Applies one of 14 operations at a random magnitude, like torchvision's TrivialAugmentWide.",
      Parameter{"bins", &TrivialAugment::bins, kBins, "number of magnitudes"},
      interpolation_of<TrivialAugment>(static_cast<int>(Interpolation::area)),
      fill_of_step<TrivialAugment>("value of pixels outside the image: one number, or one for each channel")};
  return table;
}

void step::TrivialAugment::draw(StepDraw& draw) const {
  const auto operation = static_cast<std::int64_t>(draw.random.below(kAugmentations));
  std::int64_t bin = 0;
  if (has_magnitude(operation)) bin = static_cast<std::int64_t>(draw.random.below(static_cast<std::uint64_t>(bins)));
  augment(draw, {.space = AugmentSpace::trivial_wide,
                 .operation = operation,
                 .bin = bin,
                 .bins = bins,
                 .interpolation = interpolation,
                 .fill = fill_of(fill)});
}

Chain image::rand_augment(std::int64_t num_ops, std::int64_t magnitude, std::int64_t bins,
                          const std::string& interpolation, Fill fill) {
  step::RandAugment augment{.num_ops = num_ops, .magnitude = magnitude, .bins = bins, .fill = std::move(fill)};
  choose(augment, "interpolation", interpolation);
  return one_step(std::move(augment));
}

Chain image::trivial_augment(std::int64_t bins, const std::string& interpolation, Fill fill) {
  step::TrivialAugment augment{.bins = bins, .fill = std::move(fill)};
  choose(augment, "interpolation", interpolation);
  return one_step(std::move(augment));
}

}  // namespace penstock
