// The steps of point clouds: sample, move, scale, rotate, pad.
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

/// How the points of a cloud follow each other.
enum class PointOrder : std::uint8_t {
  stored,      ///< as whoever wrote it left them
  random,      ///< any run of consecutive points is a uniform sample without replacement
  stratified,  ///< any run of consecutive points covers the cloud evenly
  farthest,    ///< each point is the one farthest from all before it: any prefix is a farthest point sample
};

std::string_view name(PointOrder order);  ///< "stored", "random", "stratified", "farthest"

enum class SampleMethod : std::uint8_t {
  random,           ///< uniform, without replacement
  blocks,           ///< uniform among the points of some blocks of neighbours in stored order: cheap and biased
  fps,              ///< farthest point sampling, exact
  voxel,            ///< one point of each occupied cell of a grid
  poisson,          ///< no two points closer than a distance, and none could be added
  stratified,       ///< equally many of each slice of height
  inverse_density,  ///< with a probability that falls with the number of points around
};

std::span<const std::string_view> choices(SampleMethod);  ///< as above: "inverse_density"

std::string_view name(SampleMethod method);

std::optional<SampleMethod> sample_method_named(std::string_view name);

enum class VoxelPoint : std::uint8_t {
  centroid,  ///< a new point: the mean of the cell's points, and of their attributes
  first,     ///< of the cell, in stored order
  random,
};

std::span<const std::string_view> choices(VoxelPoint);

struct SampleOptions {
  SampleMethod method = SampleMethod::random;
  std::int64_t points = 0;  ///< wanted; 0 (voxel and poisson alone): as many as the method finds
  double size = 0;          ///< voxel: edge of a cell; poisson: least distance; inverse_density: edge of the cells that
                            ///< are counted; in the cloud's unit. 0 (inverse_density): chosen from bounds and count
  VoxelPoint voxel = VoxelPoint::centroid;
  std::int64_t slices = 16;  ///< stratified: slices of equal height between the lowest and the highest point; <= 4,096
  friend bool operator==(const SampleOptions&, const SampleOptions&) = default;
};

}  // namespace penstock

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

namespace penstock::step {
struct Surface {
  std::int64_t points;
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points};
};
}  // namespace penstock::step

namespace penstock::points {
/// `points` new points, uniform on the triangles of a mesh (OFF). Comes first, or after decode() without attributes;
/// the points are new ones, so that nothing can follow them.
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
/// Drops points with a coordinate that is no finite number, which otherwise is an Error: corrupt that names the point.
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
/// The mean of the points moves to (0, 0, 0).
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
/// The middle of the bounds moves to (0, 0, 0), their longest side becomes 2.
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
/// Multiplies every coordinate by one uniform number from `low` to `high`. Throws Error: invalid_argument, unless
/// low <= high.
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
/// A rotation by a random angle about "z", or any rotation ("free", uniform). Normals (attributes nx, ny, nz that stand
/// side by side) turn with the points.
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
/// Normal noise of deviation `sigma` on each coordinate, clipped to -clip and clip; both in the cloud's unit.
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
/// A ratio is drawn from 0 to `max_ratio`, then each point, with that probability, becomes the first one.
/// Source: random_point_dropout of PointNet++.
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
/// The points, with all their columns, in a random order.
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
/// Rows of zeros behind the points, so that there are `points` of them; see valid_mask(). A cloud of more is an Error:
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
/// (C, K) in place of (K, C). Last in a chain, with cast().
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
/// After follow("OUTPUT"): bool (K,), true where the row has a point, false where pad() filled up.
inline Chain valid_mask() {
  return one_step(step::PointsValidMask{});
}
/// After follow("OUTPUT"), or as a chain of its own: float64 (3,), what coordinates are relative to.
inline Chain origin() {
  return one_step(step::Origin{});
}
}  // namespace penstock::points
