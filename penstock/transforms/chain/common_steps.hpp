// Steps that are neither for images nor for points: of arrays, labels, bytes, boxes and key points, and cast().
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <penstock/formats/schema.hpp>
#include <penstock/transforms/chain/step.hpp>

namespace penstock {

namespace step {
struct Elements {                             ///< of an array
  std::optional<DType> dtype = std::nullopt;  ///< nothing: as stored
  bool ragged = false;                        ///< the first dimension differs from sample to sample
  std::optional<Shape> shape = std::nullopt;  ///< ragged: of an item; nothing: that of the first value with an item
  static const StepTable& table();
  void check() const;
  static constexpr Traits kTraits{.domain = Domain::array, .draws = false};
};
struct Window {
  std::int64_t rows;
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::array};
};
struct Label {
  std::int64_t num_classes = 0;  ///< more than 0: float32 (num_classes,), 1 at the class
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void check() const;
};
struct Raw {
  static const StepTable& table();
};
/// (n, 4) x0 y0 x1 y1 in pixels, moved by the geometry of the followed output. Where one of these is above 0, boxes
/// with less are dropped.
struct Boxes {
  double min_size = 0;        ///< of width and height, in pixels of the output
  double min_area = 0;        ///< in pixels of the output
  double min_visibility = 0;  ///< of the area, by what the box would have if nothing were clipped
  static const StepTable& table();
};
struct Keypoints {  ///< (n, 2) x y
  static const StepTable& table();
};
struct Cast {
  DType dtype;
  bool of_array = false;  ///< written as array::cast(): text is no cloud of points then
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
/// A cast as image::, array:: and points:: name it.
template <Domain Of>
struct CastOf {
  DType dtype;
  static const StepTable& table();
  Cast stands_for() const { return {.dtype = dtype, .of_array = Of == Domain::array}; }
};
}  // namespace step

/// A number of "cls", "txt" or "json", or the one element of an array of integers, as int64 scalar. With `num_classes`
/// above 0: float32 (num_classes,), 1 at the class and 0 elsewhere; a class outside of 0 to num_classes - 1 is then a
/// data fault.
inline Chain label(std::int64_t num_classes = 0) {
  return one_step(step::Label{.num_classes = num_classes});
}
/// Undecoded bytes: ragged uint8.
inline Chain raw() {
  return one_step(step::Raw{});
}

/// After follow(): boxes as (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; ragged. Boxes that end
/// up empty stay, with zero area, so that rows keep matching labels stored apart, unless one of `drop`'s bounds is
/// above 0: boxes({.min_size = 1}) drops those narrower or lower than a pixel, and outputs that follow the boxes lose
/// the same items.
inline Chain boxes(step::Boxes drop = {}) {
  return one_step(drop);
}
/// After follow(): points as (n, 2) float32 x y in output pixels, not clipped; ragged.
inline Chain keypoints() {
  return one_step(step::Keypoints{});
}

namespace image {
/// To float32, float16, bfloat16, uint8 or uint16: normalized values, or, without normalize(), pixels as they are.
/// Masks that follow() an image take any dtype.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace image

namespace array {
/// The elements of npy and raw values, and the numbers of json, dtype and shape as stored; every sample must have those
/// of the first. decode({.dtype = ..., .ragged = ..., .shape = ...}):
///
/// `dtype`: of the output. npy and raw elements are converted as cast() does; numbers written as text (json, csv, txt)
/// are read as that dtype: what does not fit (a fraction where it is an integer, no number, NaN) is a data fault. Text
/// needs it or `ragged`. A single number is a scalar.
///
/// `ragged`: samples differ in the length of the first dimension; a row is (n, ...), n = 0 too, and the output ragged.
/// `shape` is that of an item, () for numbers; without it, that of the first value that has an item. Lines of text are
/// items, lines of one number each single numbers; shape () makes each number an item. After follow("BOXES") the items
/// go along with those of another ragged output: boxes that were dropped take theirs with them.
inline Chain decode(step::Elements as = {}) {
  return one_step(std::move(as));
}
/// `rows` consecutive rows (entries of the first dimension) at a random place. Only those are read, where the index
/// knows the rows.
inline Chain random_window(std::int64_t rows) {
  return one_step(step::Window{.rows = rows});
}
/// To any dtype. To floating point it rounds to nearest even; to integers it truncates, values out of range become the
/// nearest one, and NaN 0. Numbers in text are read by decode({.dtype = ...}).
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype, .of_array = true});
}
}  // namespace array

namespace points {
/// To float32, float16, bfloat16 or float64. Last in a chain, with channels_first().
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace points

}  // namespace penstock
