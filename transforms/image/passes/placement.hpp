// Composes the steps of an image output into passes, and computes the source pixels that each output needs.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include <penstock/geometry.hpp>
#include <transforms/chain/color_op.hpp>
#include <transforms/image/kernels/warp.hpp>
#include <transforms/image/passes/frame.hpp>

namespace penstock {

using Pass = std::variant<Geometry, Frame, Warp, ColorOp>;

/// The passes of one sample, built step by step. Adjacent crops, resizes and flips become one Geometry. Crops after
/// padding become one Frame, and crops after a rotation part of its Warp. Every other pass reads the pixels of the
/// previous one.
class Placement {
 public:
  void begin(Size source);

  void crop(const Region& region);  ///< region of the output so far; throws Error: shape, if it does not fit
  void resize(Size size, Interpolation interpolation);
  void flip();
  void flip_vertically();
  void pad(const Padding& padding, PaddingMode mode, const std::array<std::uint8_t, 4>& fill);
  void warp(const Affine& matrix, Interpolation interpolation, const std::array<std::uint8_t, 4>& fill);
  void color(const ColorOp& op) { passes_.emplace_back(op); }
  /// Must be called after all steps. The last pass is then a Geometry, which writes the output.
  void finish() { tail(); }

  /// Adapts the passes to a source decoded at 1/`denominator` of its sides, which then has `size` pixels. The first
  /// geometry() covers the same area.
  void shrink(Size size, unsigned denominator);

  Size source() const { return source_; }
  Size output() const;
  std::span<const Pass> passes() const { return passes_; }
  bool plain() const { return passes_.size() == 1; }  ///< one Geometry, after finish()
  /// The crops, resizes and flips before any other pass.
  Geometry geometry() const;
  bool flipped() const;  ///< whether left and right are exchanged in the output
  bool flipped_vertically() const;

  /// Source pixels that the output depends on. `masks` is for outputs with nearest-neighbour passes only.
  Region needed(bool masks) const;
  /// The part of pass `number`'s output that the next pass reads.
  Region wanted_of(std::size_t number, bool masks) const;

  /// Map a point (pixel edges at integers) or a box x0 y0 x1 y1 from the source image to the output. A box becomes the
  /// bounding box of its corners and is clipped after each pass, like in torchvision.
  void map_point(double& x, double& y) const;
  void map_box(double* box) const;
  /// Area of the box that map_box() would return without clipping.
  double unclipped_area(const double* box) const;

 private:
  Geometry& tail();

  Size source_;
  std::vector<Pass> passes_;
};

}  // namespace penstock
