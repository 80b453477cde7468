// Composes the steps of an image output into passes, and tells which source pixels each output needs.
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

/// One for each sample, built step by step. Neighbouring crops, resizes and flips become one Geometry, crops after
/// padding one Frame, crops after a rotation part of its Warp; every other pass works on the pixels of the one before.
class Placement {
 public:
  void begin(Size source);

  void crop(const Region& region);  ///< of the output so far. Throws Error: shape, when it does not fit
  void resize(Size size, Interpolation interpolation);
  void flip();
  void flip_vertically();
  void pad(const Padding& padding, PaddingMode mode, const std::array<std::uint8_t, 4>& fill);
  void warp(const Affine& matrix, Interpolation interpolation, const std::array<std::uint8_t, 4>& fill);
  void color(const ColorOp& op) { passes_.emplace_back(op); }
  /// Once all steps are in: the last pass is a Geometry then, which writes the output.
  void finish() { tail(); }

  /// For the source decoded at 1/`denominator` of its sides, which has `size` pixels then: the geometry() that comes
  /// first takes the same area from there.
  void shrink(Size size, unsigned denominator);

  Size source() const { return source_; }
  Size output() const;
  std::span<const Pass> passes() const { return passes_; }
  bool plain() const { return passes_.size() == 1; }  ///< one Geometry, once finished
  /// The crops, resizes and flips before any other pass.
  Geometry geometry() const;
  bool flipped() const;  ///< left and right, in the end
  bool flipped_vertically() const;

  /// Source pixels that the output depends on. `masks`: when all of it is nearest neighbour.
  Region needed(bool masks) const;
  /// The part of pass `number`'s output that the next one looks at.
  Region wanted_of(std::size_t number, bool masks) const;

  /// Take a point (pixel edges at integers), or a box x0 y0 x1 y1, of the source image to the output. A box becomes the
  /// one around its corners, clipped after each pass, as torchvision does it.
  void map_point(double& x, double& y) const;
  void map_box(double* box) const;
  /// Of the box that map_box() would give if it clipped nothing.
  double unclipped_area(const double* box) const;

 private:
  Geometry& tail();

  Size source_;
  std::vector<Pass> passes_;
};

}  // namespace penstock
