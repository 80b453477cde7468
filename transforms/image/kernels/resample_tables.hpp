// Lists what a Resampler does to a decoded image as numbers, for a device that decodes and resamples it.
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/geometry.hpp>
#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock {

/// Along each axis output place i, before it is mirrored, is the sum over `taps` pixels of the image from begin(i) on,
/// each times its weight in units of 2^-22, all of them inside the image. A copy has one tap of weight 2^22.
struct ResampleTables {
  /// x begins (width), x weights (width, taps_x), y begins (height), y weights (height, taps_y)
  std::vector<std::int32_t> numbers;
  std::int32_t taps_x = 1, taps_y = 1;
  bool vertical_first = false;  ///< which pass is rounded to bytes before the other
  bool flip = false, flip_vertical = false;
};

/// One per worker; the same weights are not computed twice in a row.
class ResampleTabulator {
 public:
  void tabulate(const Geometry& geometry, ResampleTables& tables);

 private:
  FilterWeights horizontal_, vertical_;
  std::vector<std::int64_t> pixels_;  // nearest
};

}  // namespace penstock
