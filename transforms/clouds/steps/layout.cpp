#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::ChannelsFirst::table() {
  static const TableOf<ChannelsFirst> table{"points.channels_first",
                                            "Layout (C, K) instead of (K, C). Only cast() may come after it."};
  return table;
}

}  // namespace penstock
