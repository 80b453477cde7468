#include <penstock/steps.hpp>
#include <transforms/chain/parameter.hpp>

namespace penstock {

void step::PadItems::check() const {
  if (length != 0 && multiple_of != 1)
    throw Error::invalid_argument("pad(): length cannot be combined with multiple_of");
  if (length == 0 && longer != Longer::raise)
    throw Error::invalid_argument("pad(longer=\"truncate\") requires a length; without one, no row is too long");
}

const StepTable& step::PadItems::table() {
  static const TableOf<PadItems> table{
      "pad",
      "Comes after a step that gives a Ragged. Pads rows at their end to one length, so that the output is one Tensor. "
      "Images have image.pad(), clouds points.pad().",
      Parameter{"length",
                &PadItems::length,
                {.shown = Shown::by_place_unless_usual, .least = 0, .most = 1e9, .unit = "items"},
                "length of every row; 0: that of the longest row of the batch, so batches differ"},
      Parameter{"multiple_of", &PadItems::multiple_of, option({.least = 1, .most = 1 << 24, .unit = "items"}),
                "without a length, the longest row is rounded up to a multiple of this number"},
      Parameter{"value", &PadItems::value, option({}), "value of the added items"},
      Parameter{"longer", &PadItems::longer, kOption,
                "for rows with more than `length` items: raise makes the sample invalid, truncate cuts off the end"}};
  return table;
}

const StepTable& step::ValidMask::table() {
  static const TableOf<ValidMask> table{
      "valid_mask",
      "Comes after follow(\"OUTPUT\"). The chain of OUTPUT must end with pad(). Gives bool: True for a row's items, "
      "False for those that pad() added. The key_padding_mask of PyTorch's attention is the opposite: pass "
      "~valid_mask. Reads no field."};
  return table;
}

const StepTable& step::Lengths::table() {
  static const TableOf<Lengths> table{"lengths",
                                      "Comes after follow(\"OUTPUT\"). OUTPUT must be a Ragged or end with pad(). "
                                      "Gives the number of items of the row, an int64 scalar. Reads no field."};
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
