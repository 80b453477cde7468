#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Attribute::table() {
  static const TableOf<Attribute> table{
      "points.attribute",
      "One attribute of each point in its stored dtype, after follow(\"OUTPUT\") that of the same points: (K,).",
      Parameter{"name", &Attribute::name, kRequired, "of the attribute"}};
  return table;
}

const StepTable& step::PointsValidMask::table() {
  static const TableOf<PointsValidMask> table{
      "points.valid_mask",
      "After follow(\"OUTPUT\"): bool (K,), True for points, False where pad() filled up. key_padding_mask of torch's "
      "attention is the opposite: give it ~valid_mask."};
  return table;
}

const StepTable& step::Origin::table() {
  static const TableOf<Origin> table{"points.origin", "float64 (3,): what coordinates are relative to."};
  return table;
}

}  // namespace penstock
