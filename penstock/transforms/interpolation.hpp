// Names the ways to interpolate the pixels of a resized, rotated or sheared image.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace penstock {

/// In a resize the last three are antialiased: they reach as far as an output pixel does. Source: Pillow, Resample.c.
enum class Interpolation : std::uint8_t {
  nearest,   ///< one pixel; masks are always moved so
  area,      ///< the mean of the pixels under the output pixel: Pillow's BOX. In resizes only
  bilinear,  ///< a triangle, 1 pixel to each side
  bicubic,   ///< Keys' cubic with a = -0.5, 2 pixels to each side
};

inline constexpr std::string_view kInterpolations[] = {"nearest", "area", "bilinear", "bicubic"};
constexpr std::span<const std::string_view> choices(Interpolation) {
  return kInterpolations;
}

/// Pixels that the filter reaches to each side at scale 1; 0 for nearest.
constexpr double support(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest:
      return 0.0;
    case Interpolation::area:
      return 0.5;
    case Interpolation::bilinear:
      return 1.0;
    case Interpolation::bicubic:
      break;
  }
  return 2.0;
}

}  // namespace penstock
