// The steps for every kind of field: labels, raw bytes, boxes, key points, ragged rows, windows, steps of your own.
//
//   const penstock::Chain label = penstock::label();
//   const penstock::Chain bytes = penstock::field("json") | penstock::raw();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/schema.hpp>
#include <penstock/step.hpp>

namespace penstock {

namespace step {
struct Elements {                             ///< of an array
  std::optional<DType> dtype = std::nullopt;  ///< nothing: as stored
  bool ragged = false;                        ///< the first dimension differs from sample to sample
  std::optional<Shape> shape = std::nullopt;  ///< ragged: of an item; nothing: that of the first value with an item
  static const StepTable& table();
  void check() const;
  Traits traits() const { return {.domain = Domain::array, .draws = false, .lists_items = ragged && shape != Shape{}}; }
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
  bool drops() const { return min_size > 0 || min_area > 0 || min_visibility > 0; }
  static const StepTable& table();
  Traits traits() const { return {.drops_items = drops()}; }
};
struct Keypoints {  ///< (n, 2) x y
  static const StepTable& table();
};
struct Cast {
  DType dtype;
  bool of_array = false;  ///< written as array::cast(): text is no cloud of points then
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .converts = true};
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
inline Chain random_slice(std::int64_t rows) {
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

/// What becomes of rows that are longer than a fixed length.
enum class Longer : std::uint8_t { raise, truncate };
inline constexpr std::string_view kLonger[] = {"raise", "truncate"};
constexpr std::span<const std::string_view> choices(Longer) {
  return kLonger;
}

namespace step {
struct PadItems {
  std::int64_t length = 0;       ///< of every row; 0: of the batch's longest
  std::int64_t multiple_of = 1;  ///< the longest is rounded up to
  double value = 0;
  Longer longer = Longer::raise;
  static const StepTable& table();
  Traits traits() const { return {.draws = false, .padding = ItemPadding{length, multiple_of, value}}; }
  void check() const;
};
struct ValidMask {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .marks_items = true};
};
struct Lengths {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .counts_items = true};
};
}  // namespace step

struct PadOptions {
  std::int64_t multiple_of = 1;  ///< without a length: the longest row's is rounded up to a multiple
  double value = 0;              ///< stands behind a row's items
  std::string longer = "raise";  ///< rows of more items than `length`: a data fault, or, "truncate", cut off
};

/// Behind what gives a ragged output: rows are filled up at their end, and the output is not ragged any more. With
/// `length` each row has so many items; with 0 as many as the longest row of its batch, so that batches differ.
/// Images have image::pad(), clouds points::pad().
Chain pad(std::int64_t length = 0, const PadOptions& options = {});
/// After follow("OUTPUT"), an output that pad() ends: bool, true for a row's items and false where pad() filled up.
Chain valid_mask();
/// After follow("OUTPUT"), one that is or was ragged: int64 scalar, the items of a row.
Chain lengths();

/// What becomes of a row whose window reaches over an end of its group: `pad` repeats the group's nearest step, `drop`
/// leaves the sample out of the epoch.
enum class Edge : std::uint8_t { pad, drop };

/// Which steps a row of a window has. docs/spec/windows.md defines it.
struct WindowOptions {
  /// Of each step, in their order in the row: whole numbers, steps from the sample's own one (0); with `at`, in its
  /// unit.
  std::vector<double> offsets = {};
  /// Which samples belong together: a field ("episode", "json:episode"), or a regular expression (ECMAScript's) that is
  /// searched in the keys: its first group, or the match where it has none. Empty: all samples of the dataset.
  std::string group = {};
  std::string edge = "pad";  ///< or "drop"
  std::string order_by =
      {};  ///< a field that holds a number, "json:frame": the order within a group; empty: as they are
  /// A field that holds a number: a step is the last one whose number is at most the sample's own plus the offset.
  std::string at = {};
};

struct WindowSpec {
  std::vector<double> offsets;
  std::string group;
  Edge edge = Edge::pad;
  std::string order_by, at;
  friend bool operator==(const WindowSpec&, const WindowSpec&) = default;
};

/// First in a chain, in the place of field(): rows are steps of that field, one for each offset, and have the shape
/// (offsets, ...). What the chain draws it draws once for the row, so that all its steps are cropped and flipped alike.
/// Outputs that follow() such a one are windows of the same steps. Rows must have one shape.
/// Throws Error: invalid_argument, for offsets that are empty, not whole or too far, and words that mean nothing.
Chain window(const std::string& alternatives, const WindowOptions& options);

namespace step {
/// Tells which steps of a window's row are in its group.
struct WindowValid {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
}  // namespace step

/// After follow("OUTPUT"), whose chain begins with window(): bool (offsets,), true for steps of the row's group, false
/// where its nearest step is repeated.
Chain window_valid();

class Codec;      // penstock/codec.hpp
class Transform;  // penstock/transform.hpp

namespace step {
struct OwnDecode {
  std::shared_ptr<const Codec> codec;
  static const StepTable& table();
  std::string own_text() const;
};
struct OwnTransform {
  std::shared_ptr<const Transform> transform;
  static const StepTable& table();
  std::string own_text() const;
};
}  // namespace step

/// First in a chain: the field's bytes are read by a codec of the user's own, whatever they look like. The steps for
/// images may follow where its layouts say `image`, those for arrays where they do not.
Chain decode(std::shared_ptr<const Codec> codec);
/// Last in a chain, any number of them: transforms of the user's own, of what the steps before them give.
Chain transform(std::shared_ptr<const Transform> transform);

}  // namespace penstock
