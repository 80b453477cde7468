// Maps an image by an affine map onto an image of the same size: rotation, shear, scale and translation.
#pragma once

#include <array>
#include <cstdint>

#include <penstock/geometry.hpp>
#include <transforms/image/kernels/resample.hpp>

namespace penstock {

/// Maps a point (x, y) of the output, with pixel edges at integers, to the source image:
///
///   x' = a[0] x + a[1] y + a[2]
///   y' = a[3] x + a[4] y + a[5]
using Affine = std::array<double, 6>;

/// Returns a rotation by `degrees` counterclockwise about the centre. Source: Pillow 13, Image.rotate, without expand.
Affine rotation(double degrees, Size size);

struct AffineDraw {
  double degrees = 0;  ///< clockwise
  double translate_x = 0, translate_y = 0, scale = 1;
  double shear_x = 0, shear_y = 0;  ///< in degrees
};
/// Returns the inverse of a translation after rotation, scale and shear about `center`.
/// Source: torchvision, transforms/functional.py, _get_inverse_affine_matrix.
Affine inverse_affine(const AffineDraw& draw, double center_x, double center_y);

/// Pixel (i, j) of the output is the image at the mapped point (window.x + i + 0.5, window.y + j + 0.5). Points outside
/// the image of `inner` pixels become the fill. Source: Pillow 13, Geometry.c, ImagingTransformAffine; equal to the
/// last bit.
struct Warp {
  Size inner;
  Affine matrix;
  Interpolation interpolation = Interpolation::nearest;  ///< nearest, bilinear or bicubic
  std::array<std::uint8_t, 4> fill{};
  Region window;

  Size output() const { return {window.width, window.height}; }
  Region needed() const;  ///< pixels of the image that the window may show; at least one
  void map_point(double& x, double& y) const;
  /// Writes output() pixels with interleaved channels. `source` must contain needed().
  void run(const PixelSource& source, Interpolation interpolation, std::uint8_t* out) const;
};

}  // namespace penstock
