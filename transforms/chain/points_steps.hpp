// Describes the steps of chains for point clouds; see points:: in chain.hpp for what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// What becomes of a cloud that has fewer points than points::sample() wants.
enum class FewPoints : std::uint8_t {
  repeat,  ///< points of its own are repeated
  ragged,  ///< the row has fewer points: `values` and `offsets`
  raise,   ///< Error: shape
};

namespace step {
struct CloudDecode {
  std::vector<std::string> attributes;
  std::int64_t columns;  ///< of values that are bare float32 rows; 0: the field tells
};
struct Surface {
  std::int64_t points;
};
struct Sample {
  SampleOptions options;
  std::int64_t blocks;  ///< SampleMethod::blocks; 0: as many as hold about twice the points wanted
  FewPoints few;
};
struct Finite {};
struct Center {};
struct UnitSphere {};
struct UnitBox {};
struct Scale {
  double factor;
};
struct Rotate {
  bool free;  ///< else about z
};
struct Jitter {
  double sigma, clip;
};
struct RandomScale {
  double low, high;
};
struct Shift {
  double range;
};
struct Dropout {
  double most;
};
struct ShufflePoints {};
struct Pad {
  std::int64_t points;
};
struct ChannelsFirst {};
struct Attribute {
  std::string name;
};
struct Mask {};
struct Origin {};
}  // namespace step

}  // namespace penstock
