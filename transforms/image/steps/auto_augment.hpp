// Lists the operations that RandAugment and TrivialAugment choose from.
#pragma once

#include <cstdint>
#include <string>

#include <penstock/transforms/chain/image_steps.hpp>
#include <penstock/transforms/image/steps/placement.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

/// Identity, ShearX, ShearY, TranslateX, TranslateY, Rotate, Brightness, Color, Contrast, Sharpness, Posterize,
/// Solarize, AutoContrast, Equalize.
inline constexpr std::int64_t kAugmentations = 14;

/// How far the operations go. Source: torchvision 0.20, transforms/v2/_auto_augment.py, _AUGMENTATION_SPACE.
enum class AugmentSpace : std::uint8_t { rand, trivial_wide };

struct AugmentChoice {
  AugmentSpace space;
  std::int64_t operation;  ///< below kAugmentations
  std::int64_t bin, bins;  ///< the magnitude
  Interpolation interpolation;
  std::array<std::uint8_t, 4> fill;
};

/// Whether the operation has magnitudes to choose from.
bool has_magnitude(std::int64_t operation);
/// Adds the operation; draws its sign where it has one. Says it in `told`, where that is given: "ShearX -0.09".
void augment(Placement& placement, const AugmentChoice& choice, Random& random, std::string* told);

}  // namespace penstock
