// The transforms of point clouds: sample, move, scale, rotate, pad.
//
//   namespace points = penstock::points;
//   const penstock::Chain chain = points::sample(4096, "fps") | points::center() | points::unit_sphere();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <penstock/step.hpp>

namespace penstock {

/// The order of the points in a stored cloud.
enum class PointOrder : std::uint8_t {
  stored,      ///< as written by the original program
  random,      ///< any run of consecutive points is a uniform sample without replacement
  stratified,  ///< any run of consecutive points covers the cloud evenly
  farthest,    ///< each point is the one farthest from all before it: any prefix is a farthest point sample
};

std::string_view name(PointOrder order);  ///< "stored", "random", "stratified", "farthest"

/// The methods that choose points.
enum class SampleMethod : std::uint8_t {
  random,           ///< uniform, without replacement
  blocks,           ///< uniform among the points of some blocks of neighbours in stored order: cheap and biased
  fps,              ///< farthest point sampling, exact
  voxel,            ///< one point of each occupied cell of a grid
  poisson,          ///< no two points are closer than a distance, and no further point could be added
  stratified,       ///< equally many points from each slice of height
  inverse_density,  ///< with a probability that decreases with the number of points nearby
};

std::span<const std::string_view> choices(SampleMethod);  ///< the names: "random", ..., "inverse_density"

std::string_view name(SampleMethod method);

std::optional<SampleMethod> sample_method_named(std::string_view name);

/// The point that represents an occupied cell.
enum class VoxelPoint : std::uint8_t {
  centroid,  ///< a new point: the mean of the cell's points, and of their attributes
  first,     ///< first of the cell in stored order
  random,
};

std::span<const std::string_view> choices(VoxelPoint);  ///< the names: "centroid", "first", "random"

/// A method that chooses points, with its parameters.
struct SampleOptions {
  SampleMethod method = SampleMethod::random;
  std::int64_t points = 0;  ///< number of points to take; 0 (only voxel and poisson): as many as the method finds
  /// In the cloud's unit: edge of a cell (voxel), minimum distance (poisson), or edge of the cells in which points are
  /// counted (inverse_density). 0 (inverse_density): chosen from bounds and count.
  double size = 0;
  VoxelPoint voxel = VoxelPoint::centroid;
  /// stratified: slices of equal height between the lowest and the highest point; at most 4,096
  std::int64_t slices = 16;
  friend bool operator==(const SampleOptions&, const SampleOptions&) = default;
};

}  // namespace penstock

namespace penstock::step {
struct CloudDecode {
  std::vector<std::string> attributes;
  std::int64_t columns = 0;  ///< for values that are plain float32 rows; 0: defined by the field
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points, .draws = false};
  void check() const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Decodes a cloud; must come first in a chain. `attributes` follow x, y, z as further columns, named as in
/// PointAttribute. `columns` is the number of float32 numbers per point in values that do not define it (.bin scans: 4,
/// as in KITTI, by default). Without steps after it, the output contains all points, as a ragged row.
inline Chain decode(std::vector<std::string> attributes = {}, std::int64_t columns = 0) {
  return one_step(step::CloudDecode{.attributes = std::move(attributes), .columns = columns});
}
}  // namespace penstock::points

namespace penstock {

/// How to treat a cloud that has fewer points than points::sample() should take.
enum class FewPoints : std::uint8_t {
  repeat,  ///< repeats points of the cloud
  ragged,  ///< the row has fewer points; the output is ragged: `values` and `offsets`
  raise,   ///< Error: shape
};

inline constexpr std::string_view kFewPoints[] = {"repeat", "ragged", "raise"};
/// The names of the values, in their order.
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
  std::int64_t blocks = 0;  ///< for SampleMethod::blocks; 0: enough for about twice the points to take
  FewPoints if_fewer = FewPoints::repeat;
  static const StepTable& table();
  void check() const;
  std::unique_ptr<PointRunner> runner() const;
  SampleOptions options() const;
  /// Number of blocks that SampleMethod::blocks draws from, for clouds with `block_points` points per block.
  std::uint64_t block_count(std::uint64_t block_points) const;
  /// Adds points until there are `points` rows, as `if_fewer` says. Throws Error: shape, if it says raise, or if the
  /// cloud has no points.
  void fill_up(PointBuffer& cloud, Random& random) const;
};
/// A Sample step that takes as many points as the method finds.
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
/// The options of sample().
struct SampleKeywords {
  double size = 0;  ///< edge of a voxel, Poisson distance, or edge of the cells for the density; in the cloud's unit
  std::string voxel = "centroid";   ///< point of an occupied cell; or "first", "random"
  std::int64_t slices = 16;         ///< for "stratified": slices by height
  std::int64_t blocks = 0;          ///< for "blocks"; 0: enough for about twice the points
  std::string if_fewer = "repeat";  ///< or "ragged", "raise": see FewPoints
};
/// Takes `points` points of the cloud, a fresh sample for every (seed, epoch, sample). For a cloud packed in
/// progressive order, takes the next run of stored points, a different one in each epoch until all were delivered.
/// method: "random", "blocks", "fps", "voxel", "poisson", "stratified" or "inverse_density"; clouds/samplers/ describes
/// their parameters and sources.
Chain sample(std::int64_t points, const std::string& method = "random", const SampleKeywords& keywords = {});
/// One point of each occupied cell of a grid with edge `size`, in the cloud's unit: ragged. mode: the cell's
/// "centroid", its "first" or a "random" point.
Chain voxel(double size, const std::string& mode = "centroid");
/// Points with a minimum distance of `distance`, in the cloud's unit, until no further one could be added: ragged.
inline Chain poisson(double distance) {
  return one_step(step::Poisson{.distance = distance}.stands_for());
}
}  // namespace points

}  // namespace penstock

namespace penstock::step {
struct Surface {
  std::int64_t points;
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points};
};
}  // namespace penstock::step

namespace penstock::points {
/// `points` new points, uniform on the triangles of a mesh (OFF). Comes first, or after decode() without attributes.
/// The points are new ones, so no output can follow() them.
inline Chain surface(std::int64_t points) {
  return one_step(step::Surface{.points = points});
}
}  // namespace penstock::points

namespace penstock::step {
struct DropNonfinite {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Drops points with a coordinate that is not finite. Without this step, such a point is an Error: corrupt that names
/// it.
inline Chain drop_nonfinite() {
  return one_step(step::DropNonfinite{});
}
}  // namespace penstock::points

namespace penstock::step {
struct Center {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Moves the points so that their mean is (0, 0, 0).
inline Chain center() {
  return one_step(step::Center{});
}
}  // namespace penstock::points

namespace penstock::step {
struct UnitSphere {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
struct UnitBox {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Divides coordinates by the largest distance of a point from (0, 0, 0). After center(): PointNet's normalization.
inline Chain unit_sphere() {
  return one_step(step::UnitSphere{});
}
/// Moves the middle of the bounds to (0, 0, 0), and scales their longest side to 2.
inline Chain unit_box() {
  return one_step(step::UnitBox{});
}
}  // namespace penstock::points

namespace penstock::step {
struct Scale {
  double factor;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
struct RandomScale {
  double low = 0.8, high = 1.25;
  static const StepTable& table();
  void check() const;
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Multiplies every coordinate by one factor.
inline Chain scale(double factor) {
  return one_step(step::Scale{.factor = factor});
}
/// Multiplies every coordinate by one uniform number from `low` to `high`. Throws Error: invalid_argument, unless low
/// <= high.
inline Chain random_scale(double low = 0.8, double high = 1.25) {
  return one_step(step::RandomScale{.low = low, .high = high});
}
}  // namespace penstock::points

namespace penstock::step {
struct RandomRotate {
  enum class About : std::uint8_t { z, free };
  About about = About::z;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Rotates by a random angle about "z", or by any rotation ("free", uniform). Normals (consecutive attributes nx, ny,
/// nz) turn with the points.
Chain random_rotate(const std::string& about = "z");
}  // namespace penstock::points

namespace penstock::step {
struct RandomJitter {
  double sigma = 0.01, clip = 0.05;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Adds normal noise with standard deviation `sigma` to each coordinate, clipped to [-clip, clip]; both in the cloud's
/// unit.
inline Chain random_jitter(double sigma = 0.01, double clip = 0.05) {
  return one_step(step::RandomJitter{.sigma = sigma, .clip = clip});
}
}  // namespace penstock::points

namespace penstock::step {
struct RandomShift {
  double range = 0.1;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Moves the cloud by a uniform number from -range to range along each axis, in the cloud's unit.
inline Chain random_shift(double range = 0.1) {
  return one_step(step::RandomShift{.range = range});
}
}  // namespace penstock::points

namespace penstock::step {
struct RandomDropout {
  double max_ratio = 0.875;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Draws a ratio from 0 to `max_ratio`, then replaces each point, with that probability, by the first one. Source:
/// random_point_dropout of PointNet++.
inline Chain random_dropout(double max_ratio = 0.875) {
  return one_step(step::RandomDropout{.max_ratio = max_ratio});
}
}  // namespace penstock::points

namespace penstock::step {
struct RandomShuffle {
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Puts the points, with all their columns, in a random order.
inline Chain random_shuffle() {
  return one_step(step::RandomShuffle{});
}
}  // namespace penstock::points

namespace penstock::step {
struct Pad {
  std::int64_t points;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Appends rows of zeros until there are `points` points; see valid_mask(). A cloud with more points is an Error:
/// shape.
inline Chain pad(std::int64_t points) {
  return one_step(step::Pad{.points = points});
}
}  // namespace penstock::points

namespace penstock::step {
struct ChannelsFirst {
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points, .draws = false};
};
}  // namespace penstock::step

namespace penstock::points {
/// Delivers (C, K) instead of (K, C). Last in a chain, together with cast().
inline Chain channels_first() {
  return one_step(step::ChannelsFirst{});
}
}  // namespace penstock::points

namespace penstock::step {
struct Attribute {
  std::string name;
  static const StepTable& table();
};
struct PointsValidMask {
  static const StepTable& table();
};
struct Origin {
  static const StepTable& table();
};
}  // namespace penstock::step

namespace penstock::points {
/// After follow("OUTPUT"), or as a chain of its own: one attribute of each point in its stored dtype: (K,).
inline Chain attribute(const std::string& name) {
  return one_step(step::Attribute{.name = name});
}
/// After follow("OUTPUT"): bool (K,), true for points of the cloud, false for padding of pad().
inline Chain valid_mask() {
  return one_step(step::PointsValidMask{});
}
/// After follow("OUTPUT"), or as a chain of its own: the origin of the coordinates, float64 (3,).
inline Chain origin() {
  return one_step(step::Origin{});
}
}  // namespace penstock::points
