#include <penstock/steps.hpp>
#include <transforms/chain/parameter.hpp>

namespace penstock {

namespace step {

void Elements::check() const {
  if (shape && !ragged)
    throw Error::invalid_argument(
        "array.decode(): shape requires ragged=True, because it is the shape of an item of a ragged row");
}

const StepTable& Elements::table() {
  static const TableOf<Elements> table{
      "array.decode",
      "Elements of npy and raw, and the numbers of json, in the stored dtype and shape. Every sample must have the "
      "dtype and shape of the first one. With `dtype` or `ragged`, also the numbers of csv and txt.",
      Parameter{"dtype",
                &Elements::dtype,
                {.shown = Shown::by_place_unless_usual},
                "dtype of the output. npy and raw elements are converted as by array.cast(). A number in a text that "
                "does not fit the dtype makes the sample invalid"},
      Parameter{"ragged", &Elements::ragged, kOption,
                "samples may differ in the length of the first dimension: the output is a Ragged. After "
                "follow(\"BOXES\"), items are dropped together with those of that output"},
      Parameter{
          "shape", &Elements::shape, option({.most = 1e9}),
          "with `ragged`: shape of an item, () for numbers. Default: the shape of the first value that has an item"}};
  return table;
}

const StepTable& Window::table() {
  static const TableOf<Window> table{
      "array.random_slice",
      "Consecutive rows at a random place. If the index knows where the rows are stored, only they are read.",
      Parameter{"rows", &Window::rows, required({.least = 1, .refusal = "needs at least 1 row", .unit = "rows"}),
                "length of the slice"}};
  return table;
}

void Label::check() const {
  if (num_classes < 0) throw Error::invalid_argument("label(): num_classes must not be negative");
}

const StepTable& Label::table() {
  static const TableOf<Label> table{
      "label",
      "A class index or another single integer from cls, txt, json or an array: int64 scalar. With `num_classes`: "
      "float32 (num_classes,), 1 at the class and 0 elsewhere. A class outside this range makes the sample invalid.",
      Parameter{"num_classes",
                &Label::num_classes,
                {.shown = Shown::by_place_unless_usual, .least = 0, .most = 1 << 24},
                "number of classes; 0 delivers the index"}};
  return table;
}

const StepTable& Raw::table() {
  static const TableOf<Raw> table{"raw", "Stored bytes without decoding: a Ragged of uint8."};
  return table;
}

const StepTable& Boxes::table() {
  static const TableOf<Boxes> table{"boxes",
                                    "Comes after follow(). Gives boxes (n, 4) as float32 x0 y0 x1 y1 in pixels of the "
                                    "output, clipped to it; a Ragged. Empty boxes stay, with zero area, unless a bound "
                                    "is above 0. If a box is dropped, outputs that follow the boxes drop its item too.",
                                    Parameter{"min_size", &Boxes::min_size, option({.least = 0, .unit = "pixels"}),
                                              "least width and height of a box that is kept"},
                                    Parameter{"min_area", &Boxes::min_area, option({.least = 0, .unit = "pixels"}),
                                              "least area of a box that is kept"},
                                    Parameter{"min_visibility", &Boxes::min_visibility, option({.least = 0, .most = 1}),
                                              "least part of a box's area that clipping must leave"}};
  return table;
}

const StepTable& Keypoints::table() {
  static const TableOf<Keypoints> table{
      "keypoints",
      "Comes after follow(). Gives points (n, 2) as float32 x y in pixels of the output, not clipped; a Ragged."};
  return table;
}

const StepTable& Cast::table() {
  static const TableOf<Cast> table{"cast",
                                   "Name of image.cast(), array.cast() and points.cast() in the text of a chain. C++ "
                                   "and Python have those three functions.",
                                   Parameter{"dtype", &Cast::dtype, kRequired, "name of the dtype"}};
  return table;
}

template <>
const StepTable& CastOf<Domain::image>::table() {
  static const TableOf<CastOf> table{
      "image.cast",
      "Converts pixels to another dtype. Without normalize(), they are from 0 to 255 (16-bit images: 65535).",
      Parameter{"dtype", &CastOf::dtype, kRequired,
                "\"float32\", \"float16\", \"bfloat16\", \"uint8\" or \"uint16\"; masks that follow an image can have "
                "any dtype"}};
  return table;
}

template <>
const StepTable& CastOf<Domain::array>::table() {
  static const TableOf<CastOf> table{
      "array.cast",
      "Converts the dtype. To floating point, values are rounded to nearest even. To integers, fractions are cut off, "
      "values out of range become the nearest integer, and NaN becomes 0.",
      Parameter{"dtype", &CastOf::dtype, kRequired, "any dtype"}};
  return table;
}

template <>
const StepTable& CastOf<Domain::points>::table() {
  static const TableOf<CastOf> table{
      "points.cast", "Converts the dtype. Only channels_first() may come after it.",
      Parameter{"dtype", &CastOf::dtype, kRequired, "\"float32\", \"float16\", \"bfloat16\" or \"float64\""}};
  return table;
}

}  // namespace step

}  // namespace penstock
