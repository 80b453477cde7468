// Maps the pixels of an output to the pixels of its source: the composed crops, resizes and flips of a chain.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace penstock {

/// How pixels are interpolated. In a resize, the last three are antialiased: the filter grows with the size of an
/// output pixel. Source: Pillow, Resample.c.
enum class Interpolation : std::uint8_t {
  nearest,   ///< one pixel; always used for masks
  area,      ///< the mean of the pixels under the output pixel, Pillow's BOX; for resizes only
  bilinear,  ///< a triangle, 1 pixel to each side
  bicubic,   ///< Keys' cubic with a = -0.5, 2 pixels to each side
};

inline constexpr std::string_view kInterpolations[] = {"nearest", "area", "bilinear", "bicubic"};
/// The names of the values, in their order.
constexpr std::span<const std::string_view> choices(Interpolation) {
  return kInterpolations;
}

/// Pixels that the filter covers on each side at scale 1; 0 for nearest.
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

/// The size of an image, in pixels.
struct Size {
  std::int64_t width = 0, height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

/// The pixels [x, x + width) by [y, y + height).
struct Region {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

/// The mapping from output to source. `box` is resampled to a grid. Output pixel (i, j) is pixel (window.x + i,
/// window.y + j) of this grid, which is mirrored first if `flip`, and turned upside down if `flip_vertical`. Only
/// source pixels inside `visible` contribute, as after a crop.
struct Geometry {
  Size source;     ///< pixels of the stored image
  Region visible;  ///< the part that remains after crops before the resize (integer pixels)
  double box_x = 0, box_y = 0, box_width = 0, box_height = 0;  ///< source area of the whole grid, in source pixels
  Size grid;                                                   ///< pixels that the box is resampled to
  Region window;                                               ///< the part of the grid that is the output
  bool flip = false;
  bool flip_vertical = false;
  Interpolation interpolation = Interpolation::bilinear;  ///< of the last resize

  static Geometry identity(Size source);
  Size output() const { return {window.width, window.height}; }
  bool resamples() const;                 ///< false if the output is a plain copy of source pixels
  Geometry cropped(Region region) const;  ///< `region` is in pixels of the current output
  Geometry resized(Size size, Interpolation interpolation = Interpolation::bilinear) const;
  Geometry flipped() const;
  Geometry flipped_vertically() const;
  bool copies() const { return !resamples() && !flip && !flip_vertical; }  ///< the output is a region of the source
  /// The source pixels that the output depends on, for a filter with `support` source pixels at scale 1 (1.0 for
  /// bilinear).
  Region needed(double support) const;
  /// Maps a point of the source image (pixel edges at integers) to the output.
  void map_point(double& x, double& y) const;
};

}  // namespace penstock
