// Runs the steps that change the points of a cloud, each on all of its rows.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/clouds/steps/point_buffer.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

/// A worker's own: samplers keep scratch. Coordinates stay in columns 0 to 2.
/// All results are the same on every machine: no function of libm, whose last bit depends on the processor, is used
/// but the square root.
class PointStep {
 public:
  virtual ~PointStep() = default;
  /// Throws Error: corrupt, where a coordinate is no number; shape.
  virtual void apply(PointBuffer& cloud, Random& random) = 0;
};

/// `normals`: the first of three columns that turn with the points; 0 where there are none.
/// Throws Error: invalid_argument, for numbers out of range.
std::unique_ptr<PointStep> make_point_step(const Step& step, std::size_t normals);
bool is_point_step(const Step& step);  ///< that make_point_step() knows it

/// Blocks that SampleMethod::blocks draws from, of clouds whose blocks have so many points.
std::uint64_t block_count(const step::Sample& sample, std::uint64_t block_points);

/// Makes `wanted` rows of fewer, as `few` says. Throws Error: shape, where it says raise, or there is no point at all.
void fill_up(PointBuffer& cloud, std::size_t wanted, FewPoints few, Random& random);

/// Throws Error: corrupt, naming the first point with a coordinate that is no finite number.
void require_finite(const PointBuffer& cloud);

}  // namespace penstock
