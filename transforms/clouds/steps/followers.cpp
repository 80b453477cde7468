#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Attribute::table() {
  static const TableOf<Attribute> table{"points.attribute",
                                        "One attribute of each point in its stored dtype: (K,). After "
                                        "follow(\"OUTPUT\"), the attribute of that output's points.",
                                        Parameter{"name", &Attribute::name, kRequired, "name of the attribute"}};
  return table;
}

const StepTable& step::PointsValidMask::table() {
  static const TableOf<PointsValidMask> table{
      "points.valid_mask",
      "Comes after follow(\"OUTPUT\"). Gives bool (K,): True for points, False for the rows that pad() added. The "
      "key_padding_mask of PyTorch's attention is the opposite: pass ~valid_mask."};
  return table;
}

const StepTable& step::Origin::table() {
  static const TableOf<Origin> table{"points.origin", "float64 (3,): the origin that coordinates are relative to."};
  return table;
}

}  // namespace penstock
