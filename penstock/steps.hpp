// The transforms for all kinds of fields: labels, raw bytes, boxes, key points, ragged rows, windows, custom code.
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
/// The options of array::decode().
struct Elements {
  std::optional<DType> dtype = std::nullopt;  ///< unset: as stored
  bool ragged = false;                        ///< the first dimension differs from sample to sample
  std::optional<Shape> shape = std::nullopt;  ///< ragged: shape of an item; unset: that of the first value with an item
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
/// The options of boxes(). If a bound is above 0, boxes below it are dropped.
struct Boxes {
  double min_size = 0;        ///< bound for width and height, in pixels of the output
  double min_area = 0;        ///< bound in pixels of the output
  double min_visibility = 0;  ///< bound for the area, divided by its area without clipping
  bool drops() const { return min_size > 0 || min_area > 0 || min_visibility > 0; }
  static const StepTable& table();
  Traits traits() const { return {.drops_items = drops()}; }
};
struct Keypoints {  ///< (n, 2) x y
  static const StepTable& table();
};
struct Cast {
  DType dtype;
  bool of_array = false;  ///< written as array::cast(); text is then not a cloud of points
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .converts = true};
};
/// A cast in the spelling of image::, array:: and points::.
template <Domain Of>
struct CastOf {
  DType dtype;
  static const StepTable& table();
  Cast stands_for() const { return {.dtype = dtype, .of_array = Of == Domain::array}; }
};
}  // namespace step

/// Decodes the number in "cls", "txt" or "json", or the only element of an array of integers, as int64 scalar. With
/// `num_classes` above 0: float32 (num_classes,), 1 at the class and 0 elsewhere. A class outside of 0 to num_classes -
/// 1 then makes the sample invalid.
inline Chain label(std::int64_t num_classes = 0) {
  return one_step(step::Label{.num_classes = num_classes});
}
/// Delivers the undecoded bytes: ragged uint8.
inline Chain raw() {
  return one_step(step::Raw{});
}

/// After follow(): boxes as (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; ragged. By default,
/// empty boxes stay, with zero area, so that rows keep matching labels stored separately. With a bound of `drop` above
/// 0, boxes below it are dropped: boxes({.min_size = 1}) drops boxes narrower or lower than a pixel. Outputs that
/// follow the boxes lose the same items.
inline Chain boxes(step::Boxes drop = {}) {
  return one_step(drop);
}
/// After follow(): points as (n, 2) float32 x y in output pixels, not clipped; ragged.
inline Chain keypoints() {
  return one_step(step::Keypoints{});
}

namespace image {
/// Casts to float32, float16, bfloat16, uint8 or uint16: normalized values or, without normalize(), pixel values. Masks
/// that follow() an image accept any dtype.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace image

namespace array {
/// Decodes the elements of npy and raw values, and the numbers of json, with dtype and shape as stored. All samples
/// must have the dtype and shape of the first one. decode({.dtype = ..., .ragged = ..., .shape = ...}):
///
/// `dtype`: dtype of the output. The elements of npy and raw values are converted as by cast(). Numbers written as text
/// (json, csv, txt) are parsed as that dtype; if one does not fit (a fraction for an integer, NaN, not a number), the
/// sample is invalid. Text requires `dtype` or `ragged`. A single number is a scalar.
///
/// `ragged`: samples differ in the length of the first dimension. A row is (n, ...), n may be 0, and the output is
/// ragged. `shape` is the shape of an item, () for numbers; if unset, that of the first value that has an item. In
/// text, each line is an item; lines of one number are single numbers, and with shape () each number is an item. After
/// follow("BOXES"), the items are paired with those of another ragged output: if boxes are dropped, their items are
/// dropped too.
inline Chain decode(step::Elements as = {}) {
  return one_step(std::move(as));
}
/// Takes `rows` consecutive rows (entries of the first dimension) at a random place. Only these are read, if the index
/// contains the positions of rows.
inline Chain random_slice(std::int64_t rows) {
  return one_step(step::Window{.rows = rows});
}
/// Casts to any dtype. Conversion to floating point rounds to nearest even. Conversion to integers truncates, clamps
/// values out of range, and maps NaN to 0. For numbers in text, use decode({.dtype = ...}) instead.
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype, .of_array = true});
}
}  // namespace array

namespace points {
/// Casts to float32, float16, bfloat16 or float64. Last in a chain, together with channels_first().
inline Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}
}  // namespace points

/// How to treat rows that are longer than a fixed length.
enum class Longer : std::uint8_t { raise, truncate };
inline constexpr std::string_view kLonger[] = {"raise", "truncate"};
/// The names of the values, in their order.
constexpr std::span<const std::string_view> choices(Longer) {
  return kLonger;
}

namespace step {
struct PadItems {
  std::int64_t length = 0;       ///< of every row; 0: that of the batch's longest row
  std::int64_t multiple_of = 1;  ///< the longest is rounded up to a multiple of this
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

/// The options of pad().
struct PadOptions {
  std::int64_t multiple_of = 1;  ///< without a length: the longest row's is rounded up to a multiple of this
  double value = 0;              ///< value of the padding
  /// rows with more than `length` items: "raise" makes the sample invalid, "truncate" cuts them
  std::string longer = "raise";
};

/// After a step that produces a ragged output: pads rows at their end, so that the output is not ragged any more. With
/// `length`, each row has `length` items. With 0, each row has as many items as the longest one of its batch, so
/// batches differ in shape. For images use image::pad(), for clouds points::pad().
Chain pad(std::int64_t length = 0, const PadOptions& options = {});
/// After follow("OUTPUT"), where OUTPUT ends with pad(): bool, true for a row's items and false for padding.
Chain valid_mask();
/// After follow("OUTPUT"), where OUTPUT is ragged or was before pad(): the number of items of a row, int64 scalar.
Chain lengths();

/// How to treat a row whose window extends beyond its group: `pad` repeats the group's nearest step, `drop` leaves the
/// sample out of the epoch.
enum class Edge : std::uint8_t { pad, drop };

/// The steps in a row of a window. docs/spec/windows.md defines it.
struct WindowOptions {
  /// One offset per step, in the order of the row, counted in steps from the sample's own (0): whole numbers. With
  /// `at`, in its unit.
  std::vector<double> offsets = {};
  /// Groups the samples: by a field ("episode", "json:episode"), or by a regular expression (ECMAScript) that is
  /// searched in the keys. The group is then the first capture group, or the whole match if there is none. Empty: all
  /// samples of the dataset are one group.
  std::string group = {};
  std::string edge = "pad";  ///< or "drop"
  /// A field that contains a number, "json:frame", which orders the samples of a group. Empty: the dataset's order.
  std::string order_by = {};
  /// A field that contains a number. The step of an offset is then the last one whose number is at most the sample's
  /// own plus the offset.
  std::string at = {};
};

/// The options of a window, checked.
struct WindowSpec {
  std::vector<double> offsets;
  std::string group;
  Edge edge = Edge::pad;
  std::string order_by, at;
  friend bool operator==(const WindowSpec&, const WindowSpec&) = default;
};

/// First in a chain, instead of field(): a row consists of several steps of that field, one per offset, with shape
/// (offsets, ...). The chain draws once per row, so that all steps are cropped and flipped alike. Outputs that follow()
/// it are windows of the same steps. Rows must have one shape. Throws Error: invalid_argument, for offsets that are
/// empty, not whole or too large, and for unknown words.
Chain window(const std::string& alternatives, const WindowOptions& options);

namespace step {
/// Marks the steps of a window's row that are in its group.
struct WindowValid {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
}  // namespace step

/// After follow("OUTPUT"), where OUTPUT begins with window(): bool (offsets,), true for steps of the row's group, false
/// for repeats of the nearest step.
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

/// First in a chain, after field(): decodes the field's bytes with a custom codec, without a check of their first
/// bytes. Steps for images may follow if its layouts set `image`, and steps for arrays otherwise.
Chain decode(std::shared_ptr<const Codec> codec);
/// Applies a custom transform to the result of the previous step. A chain may end with several. Other steps must not
/// follow.
Chain transform(std::shared_ptr<const Transform> transform);

}  // namespace penstock
