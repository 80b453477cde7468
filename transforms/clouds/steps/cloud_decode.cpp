#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::CloudDecode::table() {
  static const TableOf<CloudDecode> table{
      "points.decode", "Decodes clouds. Must come first in a chain.",
      Parameter{"attributes",
                &CloudDecode::attributes,
                {.shown = Shown::by_place_unless_usual},
                "attributes that become further columns after x, y, z"},
      Parameter{"columns", &CloudDecode::columns, option({.least = 0, .most = 1024}),
                "float32 numbers of each point in .bin scans, which do not store it; 0 means KITTI's 4"}};
  return table;
}

void step::CloudDecode::check() const {
  if (columns != 0 && (columns < 3 || columns > 1024))
    throw Error::invalid_argument("points.decode(): columns must be between 3 and 1024");
}

}  // namespace penstock
