// Draws a box of random area, shape and place, for random_resized_crop() and random_erasing().
#pragma once

#include <cstdint>
#include <optional>

#include <penstock/geometry.hpp>
#include <penstock/random.hpp>
#include <penstock/step.hpp>

namespace penstock {

/// Limits for a random box.
struct BoxLimits {
  enum class Ratio : std::uint8_t { width_by_height, height_by_width };

  Range scale;  ///< fraction of the whole area, uniform
  Range ratio;  ///< log-uniform
  Ratio ratio_is;
  Size least, most;  ///< both included; a box beyond them is drawn again
};

/// Returns the first of ten boxes that is within the limits, or nothing. Each try draws the area, then the ratio, and,
/// if the box is within the limits, its top and its left.
/// Source: torchvision 0.20, transforms/v2: RandomResizedCrop.make_params, RandomErasing.make_params.
std::optional<Region> draw_box(Size whole, const BoxLimits& limits, Random& random);

}  // namespace penstock
