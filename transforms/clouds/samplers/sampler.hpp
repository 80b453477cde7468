// The samplers of clouds. Each returns the numbers of the points to keep. The result depends only on the cloud, the
// options and the draws of `random`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <penstock/points.hpp>
#include <penstock/random.hpp>

namespace penstock {

/// Coordinates of a cloud in separate columns: `count` of each, less than 2^32. If one is not finite, samplers throw
/// Error: corrupt with the point's number.
struct PointColumns {
  const float *x, *y, *z;
  std::size_t count;
};

/// The result of a sampler.
struct ChosenPoints {
  std::vector<std::uint32_t> numbers;  ///< numbers of points, in the order of delivery
  std::vector<std::uint32_t> cells;    ///< voxel centroids only: for each point of the cloud, index of its cell's entry
                                       ///< in `numbers`, or kNoCell; else empty
  static constexpr std::uint32_t kNoCell = ~std::uint32_t{0};
};

/// A sampler. Keeps scratch memory from cloud to cloud, so each worker has one.
class PointSampler {
 public:
  virtual ~PointSampler() = default;
  /// Replaces `chosen` by min(options.points, cloud.count) numbers. If options.points is 0, by as many as the method
  /// finds. The numbers ascend, except for fps, which keeps the order of discovery. voxel and poisson may find another
  /// number of points than wanted. If they find more, a uniform sample of them is taken. If they find fewer, the rest
  /// is drawn uniformly from the other points (for voxel centroids: those points themselves).
  virtual void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) = 0;
};

/// Creates a sampler. Throws Error: invalid_argument, if options do not fit the method, and for SampleMethod::blocks,
/// which choose_in_blocks() implements. A sampler of SampleMethod::random does not read the coordinates.
std::unique_ptr<PointSampler> make_sampler(const SampleOptions& options);

/// Replaces `numbers` by min(wanted, points) different numbers below `points`, ascending, each subset equally likely.
/// The time is proportional to `wanted`. Throws Error: unsupported, for more than 2^32 points.
/// Source: Floyd's algorithm; Bentley and Floyd, "A sample of brilliance", CACM 30(9), 1987. If fewer than one in 256
/// is wanted, numbers are drawn and sorted instead, and duplicates are drawn again.
void choose_random(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers);

/// Like choose_random(), but draws the points from `blocks` different blocks of `block_points` neighbours. Uses more
/// blocks if these hold fewer than `wanted` points.
void choose_in_blocks(std::uint64_t points, std::uint64_t wanted, std::uint64_t block_points, std::uint64_t blocks,
                      Random& random, std::vector<std::uint32_t>& numbers);

}  // namespace penstock
