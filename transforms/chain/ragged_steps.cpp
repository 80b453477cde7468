#include <penstock/steps.hpp>
#include <transforms/chain/parameter.hpp>

namespace penstock {

void step::PadItems::check() const {
  if (length != 0 && multiple_of != 1) throw Error::invalid_argument("pad() takes a length or multiple_of, not both");
  if (length == 0 && longer != Longer::raise)
    throw Error::invalid_argument("pad(longer=\"truncate\") needs a length: no row is longer than the longest");
}

const StepTable& step::PadItems::table() {
  static const TableOf<PadItems> table{
      "pad",
      "Behind what gives a Ragged: rows are filled up at their end to one length, as one Tensor. (Images have "
      "image.pad(), "
      "clouds points.pad().)",
      Parameter{"length",
                &PadItems::length,
                {.shown = Shown::by_place_unless_usual, .least = 0, .most = 1e9, .unit = "items"},
                "of every row; 0: as many as the longest row of the batch has, so that batches differ"},
      Parameter{"multiple_of", &PadItems::multiple_of, option({.least = 1, .most = 1 << 24, .unit = "items"}),
                "without a length, the longest is rounded up to a multiple of this"},
      Parameter{"value", &PadItems::value, option({}), "stands behind the items"},
      Parameter{"longer", &PadItems::longer, kOption,
                "what becomes of rows with more than `length` items: a data fault, or their end is cut off"}};
  return table;
}

const StepTable& step::ValidMask::table() {
  static const TableOf<ValidMask> table{
      "valid_mask",
      "After follow(\"OUTPUT\"), which pad() ends: bool, True for a row's items, False where pad() filled up. "
      "key_padding_mask of torch's attention is the opposite: give it ~valid_mask. Needs no field of its own."};
  return table;
}

const StepTable& step::Lengths::table() {
  static const TableOf<Lengths> table{"lengths",
                                      "After follow(\"OUTPUT\"), which is a Ragged or which pad() ends: int64 scalar, "
                                      "how many items the row has. Needs no "
                                      "field of its own."};
  return table;
}

Chain pad(std::int64_t length, const PadOptions& options) {
  step::PadItems step{.length = length, .multiple_of = options.multiple_of, .value = options.value};
  choose(step, "longer", options.longer);
  return one_step(step);
}

Chain valid_mask() {
  return one_step(step::ValidMask{});
}

Chain lengths() {
  return one_step(step::Lengths{});
}

}  // namespace penstock
