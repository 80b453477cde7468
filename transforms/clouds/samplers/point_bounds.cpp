#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/point_bounds.hpp>

namespace penstock {
namespace {

constexpr std::size_t kStreams = 8;  // independent minima and maxima; a single one would wait for its last result

struct Extremes {
  float low, high;
  bool finite;
};

Extremes extremes_of(const float* values, std::size_t count) {
  float low[kStreams], high[kStreams], nothing[kStreams] = {};
  std::fill_n(low, kStreams, std::numeric_limits<float>::max());
  std::fill_n(high, kStreams, std::numeric_limits<float>::lowest());
  const auto add = [&](std::size_t lane, float value) {
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
    nothing[lane] += value - value;  // adds 0, or NaN, which stays, if the value is not finite
  };
  std::size_t i = 0;
  for (; i + kStreams <= count; i += kStreams)
    for (std::size_t lane = 0; lane < kStreams; ++lane) add(lane, values[i + lane]);
  for (; i < count; ++i) add(0, values[i]);
  return {*std::min_element(low, low + kStreams), *std::max_element(high, high + kStreams),
          std::all_of(nothing, nothing + kStreams, [](float sum) { return sum == 0; })};
}

[[noreturn]] void complain(const PointColumns& cloud) {
  std::size_t i = 0;
  while (std::isfinite(cloud.x[i]) && std::isfinite(cloud.y[i]) && std::isfinite(cloud.z[i])) ++i;
  throw Error::corrupt("point " + std::to_string(i) + " has a coordinate that is not finite");
}

}  // namespace

double PointBounds::widest() const {
  return std::max({edge(0), edge(1), edge(2)});
}

PointBounds bounds_of(const PointColumns& cloud) {
  if (cloud.count > std::numeric_limits<std::uint32_t>::max())
    throw Error::unsupported("a cloud of " + std::to_string(cloud.count) +
                             " points is too large, because point numbers have 32 bits");
  PointBounds bounds;
  if (cloud.count == 0) return bounds;
  const float* columns[] = {cloud.x, cloud.y, cloud.z};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Extremes range = extremes_of(columns[axis], cloud.count);
    if (!range.finite) complain(cloud);
    bounds.low[axis] = range.low;
    bounds.high[axis] = range.high;
  }
  return bounds;
}

}  // namespace penstock
