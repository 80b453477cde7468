// Steps that are neither for images nor for points: of arrays, labels, bytes, boxes and key points, and cast().
#pragma once

#include <cstdint>

#include <penstock/formats/schema.hpp>
#include <penstock/transforms/chain/step.hpp>

namespace penstock {

namespace step {
struct Elements {  ///< of an array, as stored
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::array};
};
struct Window {
  std::int64_t rows;
  static const StepTable& table();
  void check() const;
  static constexpr Traits kTraits{.domain = Domain::array};
};
struct Label {
  std::int64_t classes = 0;  ///< more than 0: float32 (classes,), 1 at the class
  static const StepTable& table();
  void check() const;
};
struct Raw {
  static const StepTable& table();
};
struct Boxes {  ///< (n, 4) x0 y0 x1 y1 in pixels, moved by the geometry of the followed output
  static const StepTable& table();
};
struct Points {  ///< (n, 2) x y
  static const StepTable& table();
};
struct Cast {
  DType dtype;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
/// A cast as image::, array:: and points:: name it.
template <Domain>
struct CastOf {
  DType dtype;
  static const StepTable& table();
  Cast stands_for() const { return {dtype}; }
};
}  // namespace step

/// "cls", "txt" or "json" number, or integer array element -> int64 scalar; with `classes`, float32 (classes,) with 1
/// at the class and 0 elsewhere.
/// Undecoded bytes, ragged uint8.
inline Chain label(std::int64_t classes = 0) {
  return one_step(step::Label{.classes = classes});
}
inline Chain raw() {
  return one_step(step::Raw{});
}

/// After follow(): boxes as (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; ragged. Boxes that end
/// up empty stay, with zero area, so that rows keep matching labels stored apart.
/// Npy or raw elements as stored.
inline Chain boxes() {
  return one_step(step::Boxes{});
}
/// (n, 2) float32 x y in output pixels, not clipped; ragged
inline Chain key_points() {
  return one_step(step::Points{});
}

namespace image {
/// float32, float16, bfloat16 or uint8; of normalized values, or of pixels as they are; masks that follow() an image
/// Take any dtype.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace image

namespace array {
inline Chain decode() {
  return one_step(step::Elements{});
}
/// That many consecutive rows at a random place; only those are read.
inline Chain random_window(std::int64_t rows) {
  return one_step(step::Window{.rows = rows});
}
/// Any dtype; to integers by truncation, and values out of range become the nearest one.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace array

namespace points {
/// Float32, float16, bfloat16 or float64.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace points

}  // namespace penstock
