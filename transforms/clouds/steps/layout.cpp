#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::ChannelsFirst::table() {
  static const TableOf<ChannelsFirst> table{"points.channels_first", "(C, K) in place of (K, C); last, with cast()."};
  return table;
}

}  // namespace penstock
