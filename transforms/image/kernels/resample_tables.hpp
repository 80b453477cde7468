// Lists a Resampler's operations on a decoded image as numbers, for a device that decodes and resamples.
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/geometry.hpp>
#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock {

/// Along each axis, output pixel i (before mirroring) is the sum over `taps` pixels of the image from begin(i) on, each
/// times its weight in units of 2^-22. All taps are inside the image. A copy has one tap of weight 2^22.
struct ResampleTables {
  /// x begins (width), x weights (width, taps_x), y begins (height), y weights (height, taps_y)
  std::vector<std::int32_t> numbers;
  std::int32_t taps_x = 1, taps_y = 1;
  bool vertical_first = false;  ///< the pass that is rounded to bytes before the other
  bool flip = false, flip_vertical = false;
};

/// Computes tables. Reuses the weights of the previous call if they are the same. Each worker needs its own.
class ResampleTabulator {
 public:
  void tabulate(const Geometry& geometry, ResampleTables& tables);

 private:
  FilterWeights horizontal_, vertical_;
  std::vector<std::int64_t> pixels_;  // for nearest
};

}  // namespace penstock
