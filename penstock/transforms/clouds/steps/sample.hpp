// points.sample(), points.voxel() and points.poisson(): some of the points of a cloud.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// What becomes of a cloud that has fewer points than points::sample() wants.
enum class FewPoints : std::uint8_t {
  repeat,  ///< points of its own are repeated
  ragged,  ///< the row has fewer points: `values` and `offsets`
  raise,   ///< Error: shape
};

inline constexpr std::string_view kFewPoints[] = {"repeat", "ragged", "raise"};
constexpr std::span<const std::string_view> choices(FewPoints) {
  return kFewPoints;
}

namespace step {
struct Sample {
  std::int64_t points = 0;  ///< 0: as many as the method finds
  SampleMethod method = SampleMethod::random;
  double size = 0;
  VoxelPoint voxel = VoxelPoint::centroid;
  std::int64_t slices = 16;
  std::int64_t blocks = 0;  ///< SampleMethod::blocks; 0: as many as hold about twice the points wanted
  FewPoints if_fewer = FewPoints::repeat;
  static const StepTable& table();
  void check() const;
  std::unique_ptr<PointRunner> runner() const;
  SampleOptions options() const;
  /// Blocks that SampleMethod::blocks draws from, of clouds whose blocks have so many points.
  std::uint64_t block_count(std::uint64_t block_points) const;
  /// Makes `points` rows of fewer, as `if_fewer` says. Throws Error: shape, where it says raise, or there is no point
  /// at all.
  void fill_up(PointBuffer& cloud, Random& random) const;
};
/// Samples of as many points as there are.
struct Voxel {
  double size;
  VoxelPoint mode = VoxelPoint::centroid;
  static const StepTable& table();
  Sample stands_for() const;
};
struct Poisson {
  double distance;
  static const StepTable& table();
  Sample stands_for() const;
};
}  // namespace step

namespace points {
struct SampleKeywords {
  double size = 0;                  ///< voxel edge, Poisson distance, or cell of the density; in the cloud's unit
  std::string voxel = "centroid";   ///< of an occupied cell; or "first", "random"
  std::int64_t slices = 16;         ///< of "stratified", by height
  std::int64_t blocks = 0;          ///< of "blocks"; 0: as many as hold about twice the points
  std::string if_fewer = "repeat";  ///< or "ragged", "raise": see FewPoints
};
/// `points` points of the cloud, a fresh sample for every (seed, epoch, sample). Of a cloud packed in progressive
/// order, the next run of stored points: another one each epoch until all were delivered. method: "random", "blocks",
/// "fps", "voxel", "poisson", "stratified" or "inverse_density"; clouds/samplers/ says what each takes, and its source.
Chain sample(std::int64_t points, const std::string& method = "random", const SampleKeywords& keywords = {});
/// One point for each occupied cell of a grid of edge `size`, in the cloud's unit: ragged. mode: its "centroid", its
/// "first" or a "random" point.
Chain voxel(double size, const std::string& mode = "centroid");
/// Points of which no two are closer than `distance`, in the cloud's unit, and none could be added: ragged.
inline Chain poisson(double distance) {
  return one_step(step::Poisson{.distance = distance}.stands_for());
}
}  // namespace points

}  // namespace penstock
