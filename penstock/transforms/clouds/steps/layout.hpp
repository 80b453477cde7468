// points.channels_first(): (C, K) in place of (K, C).
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct ChannelsFirst {
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points, .draws = false};
};
}  // namespace penstock::step

namespace penstock::points {
/// (C, K) in place of (K, C). Last in a chain, with cast().
inline Chain channels_first() {
  return one_step(step::ChannelsFirst{});
}
}  // namespace penstock::points
