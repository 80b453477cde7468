// points.decode(): what is taken of a cloud.
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct CloudDecode {
  std::vector<std::string> attributes;
  std::int64_t columns = 0;  ///< of values that are bare float32 rows; 0: the field tells
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points, .draws = false};
  void check() const;
};
}  // namespace penstock::step

namespace penstock::points {
/// First in a chain. `attributes` follow x, y, z as further columns: names as PointAttribute gives them. `columns` says
/// how many float32 numbers a point has in values that do not tell (.bin scans: 4, KITTI's, unless said otherwise).
/// Without steps after it: all points, a ragged row.
inline Chain decode(std::vector<std::string> attributes = {}, std::int64_t columns = 0) {
  return one_step(step::CloudDecode{.attributes = std::move(attributes), .columns = columns});
}
}  // namespace penstock::points
