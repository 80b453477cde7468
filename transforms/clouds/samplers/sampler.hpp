// The samplers of clouds: each gives the numbers of the points that are kept. Each is exact, and a function of the
// cloud, the options and the draws of `random` alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <penstock/points.hpp>
#include <penstock/random.hpp>

namespace penstock {

/// Coordinates of a cloud, apart: `count` of each, less than 2^32. Finite, or the sampler throws Error: corrupt with
/// the point's number.
struct PointColumns {
  const float *x, *y, *z;
  std::size_t count;
};

/// What a sampler took.
struct ChosenPoints {
  std::vector<std::uint32_t> numbers;  ///< of points, in the order they are delivered
  std::vector<std::uint32_t> cells;  ///< voxel centroids alone: for each point of the cloud, the position in `numbers`
                                     ///< of its cell's entry, or kNoCell where the cell was not taken; else empty
  static constexpr std::uint32_t kNoCell = ~std::uint32_t{0};
};

/// One worker's sampler: keeps its scratch from cloud to cloud.
class PointSampler {
 public:
  virtual ~PointSampler() = default;
  /// Replaces `chosen`. min(options.points, cloud.count) numbers, or as many as the method finds where options.points
  /// is 0; they rise, but for fps, which keeps the order in which it finds them. voxel and poisson with a wanted
  /// number: where they find more, a uniform sample of those; where fewer, the rest is drawn uniformly from the points
  /// not taken yet (voxel centroids: those points themselves).
  virtual void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) = 0;
};

/// Throws Error: invalid_argument, for options that do not fit the method, and for SampleMethod::blocks, which are
/// drawn by the function below. A sampler of SampleMethod::random does not look at the coordinates either.
std::unique_ptr<PointSampler> make_sampler(const SampleOptions& options);

/// min(wanted, points) different numbers below `points`, rising, each subset equally likely.
/// Takes time in proportion to `wanted` alone. Throws Error: unsupported, for more than 2^32 points.
/// Source: Floyd's algorithm; Bentley and Floyd, "A sample of brilliance", CACM 30(9), 1987. Where fewer than one in
/// 256 is wanted, numbers are drawn, sorted, and drawn again for those that came twice.
void choose_random(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers);

/// Like choose_random(), from the points of `blocks` different blocks of `block_points` neighbours; from so many more
/// blocks as it takes to have `wanted` points.
void choose_in_blocks(std::uint64_t points, std::uint64_t wanted, std::uint64_t block_points, std::uint64_t blocks,
                      Random& random, std::vector<std::uint32_t>& numbers);

}  // namespace penstock
