// Runs the passes of a Placement over decoded pixels, into an output's slot.
#pragma once

#include <cstdint>
#include <vector>

#include <transforms/image/kernels/resample.hpp>
#include <transforms/image/passes/color_ops.hpp>
#include <transforms/image/passes/placement.hpp>

namespace penstock {

enum class PixelKind : std::uint8_t {
  colors,  ///< of an image: runs every pass
  values,  ///< of a mask: nearest neighbour, no colour operations, 0 instead of the image's fill
};

/// Owns two images for results between the passes, reused from sample to sample. Each worker needs its own runner.
class PassRunner {
 public:
  /// Fills the sink. `source` must contain Placement::needed(), and its pixels do not change. A placement of one pass
  /// costs the same as Resampler::run(). Throws Error: shape, for a blur that does not fit.
  void run(const PixelSource& source, const Placement& placement, PixelKind kind, const PixelSink& sink);
  /// Like Decoder::share(). Threads share the rows of a large image that is resampled.
  void share(Parallel* parallel) { resampler_.share(parallel); }

 private:
  void apply(const Pass& pass, const Region& wanted, PixelKind kind);
  std::uint8_t* other(Size size);  ///< memory for an image of `size`, other than that of current_
  void own();                      ///< makes current_ a dense, writable copy of its region
  void take(std::uint8_t* pixels, const Region& region);

  PixelSource current_{};
  bool owned_ = false;
  std::vector<std::uint8_t> memory_[2];
  int used_ = 0;
  Resampler resampler_;
  ColorRunner colors_;
};

}  // namespace penstock
