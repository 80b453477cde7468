// A window of an image that may reach beyond its edges: padding, and the crops of what was padded.
#pragma once

#include <array>
#include <cstdint>

#include <penstock/geometry.hpp>
#include <penstock/step.hpp>
#include <transforms/image/kernels/resample.hpp>

namespace penstock {

/// Pixel (i, j) is pixel (window.x + i, window.y + j) of an image of `inner` pixels, continued as `mode` says.
struct Frame {
  Size inner;
  Region window;
  PaddingMode mode = PaddingMode::constant;
  std::array<std::uint8_t, 4> fill{};

  Size output() const { return {window.width, window.height}; }
  Region needed() const;  ///< pixels of the image that the window shows; at least one
  void map_point(double& x, double& y) const;
  /// Writes output() pixels, channels interleaved. `source` holds needed() at least.
  void run(const PixelSource& source, std::uint8_t* out) const;
};

/// The number of the pixel, of `count` ones along an axis, that stands at `place`; -1: the fill.
/// Source: numpy.pad, whose reflections go on beyond one width of the image.
std::int64_t continued(std::int64_t place, std::int64_t count, PaddingMode mode);

}  // namespace penstock
