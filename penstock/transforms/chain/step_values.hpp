// What the parameters of steps are, beside numbers, names and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace penstock {

/// What stands beyond the edges of an image. Source: torchvision.transforms.v2.Pad.
enum class PaddingMode : std::uint8_t {
  constant,   ///< the fill
  edge,       ///< the outermost pixel
  reflect,    ///< the image mirrored, without its outermost pixel again: 3 2 1 2 3 4 3 2
  symmetric,  ///< the image mirrored: 2 1 1 2 3 4 4 3
};

inline constexpr std::string_view kPaddingModes[] = {"constant", "edge", "reflect", "symmetric"};
constexpr std::span<const std::string_view> choices(PaddingMode) {
  return kPaddingModes;
}

/// Pixels added at each side.
struct Padding {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;
  static constexpr Padding all(std::int64_t pixels) { return {pixels, pixels, pixels, pixels}; }
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// A uniform draw from [low, high).
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// 0 to 255: one number for all channels, or one for each.
using Fill = std::vector<std::int64_t>;

}  // namespace penstock
