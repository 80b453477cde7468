// Overwrites a box of an image in its slot.
#pragma once

#include <cstdint>
#include <vector>

#include <penstock/image.hpp>
#include <penstock/random.hpp>
#include <transforms/image/kernels/resample.hpp>

namespace penstock {

/// Owns scratch memory, which is reused from call to call. Each worker needs its own eraser.
class Eraser {
 public:
  /// Writes the step's value into `box` of the sink's `size` pixels, in the output's units, rounded to its dtype.
  /// Normally distributed values are drawn in pairs, channel by channel, row by row.
  void run(const step::RandomErasing& erasing, const Region& box, const PixelSink& sink, Size size,
           std::int64_t channels, Random& random);

 private:
  std::vector<float> values_;
  std::vector<std::byte> elements_;
};

}  // namespace penstock
