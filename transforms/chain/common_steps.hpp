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

/// A number of "cls", "txt" or "json", or the one element of an array of integers, as int64 scalar. With `classes`
/// above 0: float32 (classes,), 1 at the class and 0 elsewhere; a class outside of 0 to classes - 1 is then a data
/// fault.
inline Chain label(std::int64_t classes = 0) {
  return one_step(step::Label{.classes = classes});
}
/// Undecoded bytes: ragged uint8.
inline Chain raw() {
  return one_step(step::Raw{});
}

/// After follow(): boxes as (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; ragged. Boxes that end
/// up empty stay, with zero area, so that rows keep matching labels stored apart.
inline Chain boxes() {
  return one_step(step::Boxes{});
}
/// After follow(): points as (n, 2) float32 x y in output pixels, not clipped; ragged.
inline Chain key_points() {
  return one_step(step::Points{});
}

namespace image {
/// To float32, float16, bfloat16, uint8 or uint16: normalized values, or, without normalize(), pixels as they are.
/// Masks that follow() an image take any dtype.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace image

namespace array {
/// npy or raw elements, dtype and shape as stored; every sample must have those of the first.
inline Chain decode() {
  return one_step(step::Elements{});
}
/// `rows` consecutive rows (entries of the first dimension) at a random place. Only those are read, where the index
/// knows the rows.
inline Chain random_window(std::int64_t rows) {
  return one_step(step::Window{.rows = rows});
}
/// To any dtype. To floating point it rounds to nearest even; to integers it truncates, values out of range become the
/// nearest one, and NaN 0.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace array

namespace points {
/// To float32, float16, bfloat16 or float64. Last in a chain, with channels_first().
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace points

}  // namespace penstock
