#include <penstock/steps.hpp>
#include <transforms/chain/parameter.hpp>

namespace penstock {

namespace step {

void Elements::check() const {
  if (shape && !ragged)
    throw Error::invalid_argument("array.decode(): shape is that of an item of a ragged row: ragged=True");
}

const StepTable& Elements::table() {
  static const TableOf<Elements> table{
      "array.decode",
      "npy or raw elements, and the numbers of json, dtype and shape as stored; every sample must have the first "
      "one's. "
      "With `dtype` or `ragged` also the numbers of csv and txt.",
      Parameter{
          "dtype",
          &Elements::dtype,
          {.shown = Shown::by_place_unless_usual},
          "of the output: npy and raw elements are converted as by array.cast(); of text, what the dtype does not hold "
          "is a data fault"},
      Parameter{
          "ragged", &Elements::ragged, kOption,
          "samples differ in the length of the first dimension: a Ragged. After follow(\"BOXES\") items go along with "
          "those of that output"},
      Parameter{"shape", &Elements::shape, option({.most = 1e9}),
                "ragged: of an item, () for numbers; else that of the first value that has one"}};
  return table;
}

const StepTable& Window::table() {
  static const TableOf<Window> table{
      "array.random_slice", "Consecutive rows at a random place; only those are read where the index knows the rows.",
      Parameter{"rows", &Window::rows, required({.least = 1, .refusal = "needs at least 1 row", .unit = "rows"}),
                "how many"}};
  return table;
}

void Label::check() const {
  if (num_classes < 0) throw Error::invalid_argument("label() needs a number of classes above 0");
}

const StepTable& Label::table() {
  static const TableOf<Label> table{
      "label",
      "A class index or other single integer: int64 scalar. From cls, txt, json or an array. With `num_classes`: "
      "float32 "
      "(num_classes,), 1 at the class and 0 elsewhere; a class outside of them is a data fault.",
      Parameter{"num_classes",
                &Label::num_classes,
                {.shown = Shown::by_place_unless_usual, .least = 0, .most = 1 << 24},
                "how many; 0: the index"}};
  return table;
}

const StepTable& Raw::table() {
  static const TableOf<Raw> table{"raw", "Undecoded bytes: a Ragged of uint8."};
  return table;
}

const StepTable& Boxes::table() {
  static const TableOf<Boxes> table{
      "boxes",
      "After follow(): (n, 4) float32 x0 y0 x1 y1 in output pixels, clipped to the output; a Ragged. Boxes that end up "
      "empty stay, with zero area, unless a bound is above 0. Of those dropped, what follows the boxes drops its items "
      "too.",
      Parameter{"min_size", &Boxes::min_size, option({.least = 0, .unit = "pixels"}),
                "boxes of less width or height are dropped"},
      Parameter{"min_area", &Boxes::min_area, option({.least = 0, .unit = "pixels"}), "those of less area"},
      Parameter{"min_visibility", &Boxes::min_visibility, option({.least = 0, .most = 1}),
                "those of which less than this part of the area is left by clipping"}};
  return table;
}

const StepTable& Keypoints::table() {
  static const TableOf<Keypoints> table{"keypoints",
                                        "After follow(): (n, 2) float32 x y in output pixels, not clipped; a Ragged."};
  return table;
}

const StepTable& Cast::table() {
  static const TableOf<Cast> table{
      "cast",
      "How the text of a chain writes image.cast(), array.cast() and points.cast(), which is what C++ and Python have.",
      Parameter{"dtype", &Cast::dtype, kRequired, "its name"}};
  return table;
}

template <>
const StepTable& CastOf<Domain::image>::table() {
  static const TableOf<CastOf> table{
      "image.cast", "Without normalize(), pixels from 0 to 255.",
      Parameter{
          "dtype", &CastOf::dtype, kRequired,
          "\"float32\", \"float16\", \"bfloat16\", \"uint8\" or \"uint16\"; masks that follow an image take any"}};
  return table;
}

template <>
const StepTable& CastOf<Domain::array>::table() {
  static const TableOf<CastOf> table{"array.cast",
                                     "To floating point it rounds to nearest even; to integers it truncates, what is "
                                     "out of range becomes the nearest, "
                                     "and NaN 0.",
                                     Parameter{"dtype", &CastOf::dtype, kRequired, "any"}};
  return table;
}

template <>
const StepTable& CastOf<Domain::points>::table() {
  static const TableOf<CastOf> table{
      "points.cast", "Last, with channels_first().",
      Parameter{"dtype", &CastOf::dtype, kRequired, "\"float32\", \"float16\", \"bfloat16\" or \"float64\""}};
  return table;
}

}  // namespace step

}  // namespace penstock
