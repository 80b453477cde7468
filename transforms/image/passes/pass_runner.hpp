// Runs the passes of a Placement over decoded pixels, into an output's slot.
#pragma once

#include <cstdint>
#include <vector>

#include <transforms/image/kernels/resample.hpp>
#include <transforms/image/passes/color_ops.hpp>
#include <transforms/image/passes/placement.hpp>

namespace penstock {

enum class PixelKind : std::uint8_t {
  colors,  ///< of an image: every pass
  values,  ///< of a mask: nearest neighbour, no changes of color, and 0 where the image has its fill
};

/// One per worker: two pictures between the passes, which are reused from sample to sample.
class PassRunner {
 public:
  /// Fills the sink. `source` holds Placement::needed(); its pixels are not changed. A placement of one pass costs what
  /// Resampler::run() does. Throws Error: shape, for a blur that does not fit.
  void run(const PixelSource& source, const Placement& placement, PixelKind kind, const PixelSink& sink);
  /// As Decoder::share(): rows of a large picture that is resampled.
  void share(Parallel* parallel) { resampler_.share(parallel); }

 private:
  void apply(const Pass& pass, const Region& wanted, PixelKind kind);
  std::uint8_t* other(Size size);  ///< memory for a picture of `size` that current_ is not in
  void own();                      ///< current_ becomes ours to change: all of its region, dense
  void take(std::uint8_t* pixels, const Region& region);

  PixelSource current_{};
  bool owned_ = false;
  std::vector<std::uint8_t> memory_[2];
  int used_ = 0;
  Resampler resampler_;
  ColorRunner colors_;
};

}  // namespace penstock
