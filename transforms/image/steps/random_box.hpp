// Draws a box of random area, shape and place, as random_resized_crop() and random_erasing() do.
#pragma once

#include <cstdint>
#include <optional>

#include <penstock/geometry.hpp>
#include <penstock/random.hpp>
#include <penstock/step.hpp>

namespace penstock {

/// What a box may be.
struct BoxLimits {
  enum class Ratio : std::uint8_t { width_by_height, height_by_width };

  Range scale;  ///< of the area of the whole, uniform
  Range ratio;  ///< log-uniform
  Ratio ratio_is;
  Size least, most;  ///< both included; a box beyond them is drawn again
};

/// The first box of ten tries that is within the limits, or nothing. Draws, in this order, for each try: area, ratio,
/// and, if the box is within the limits, its top and its left.
/// Source: torchvision 0.20, transforms/v2: RandomResizedCrop.make_params, RandomErasing.make_params.
std::optional<Region> draw_box(Size whole, const BoxLimits& limits, Random& random);

}  // namespace penstock
