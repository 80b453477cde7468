// A window of an image that may reach beyond its edges. Implements padding, and crops of padded images.
#pragma once

#include <array>
#include <cstdint>

#include <penstock/geometry.hpp>
#include <penstock/step.hpp>
#include <transforms/image/kernels/resample.hpp>

namespace penstock {

/// Pixel (i, j) is pixel (window.x + i, window.y + j) of an image of `inner` pixels, continued according to `mode`.
struct Frame {
  Size inner;
  Region window;
  PaddingMode mode = PaddingMode::constant;
  std::array<std::uint8_t, 4> fill{};

  Size output() const { return {window.width, window.height}; }
  Region needed() const;  ///< pixels of the image that the window shows; at least one
  void map_point(double& x, double& y) const;
  /// Writes output() pixels with interleaved channels. `source` must contain needed().
  void run(const PixelSource& source, std::uint8_t* out) const;
};

/// Returns the index of the pixel at `place`, among `count` pixels along an axis, or -1 for the fill.
/// Source: numpy.pad. Reflections repeat beyond one width of the image.
std::int64_t continued(std::int64_t place, std::int64_t count, PaddingMode mode);

}  // namespace penstock
