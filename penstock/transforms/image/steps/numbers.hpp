// image.normalize() and image.channels_last(): what becomes of the pixels in the slot.
#pragma once

#include <vector>

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Normalize {
  std::vector<float> mean, stddev;
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::image, .draws = false};
  void check() const;
};
struct ChannelsLast {
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::image, .draws = false};
};
}  // namespace penstock::step

namespace penstock::image {
/// out[c,y,x] = (in[y,x,c] / 255 - mean[c]) / std[c], float32 (C, H, W); 65535 in place of 255 for 16 bits. One mean
/// and deviation for each channel: 3, or 1, which keeps images gray. Throws Error: invalid_argument, unless there are
/// as many deviations as means, all above 0. Source: torchvision ToTensor, then Normalize.
inline Chain normalize(std::vector<float> mean, std::vector<float> stddev) {
  return one_step(step::Normalize{.mean = std::move(mean), .stddev = std::move(stddev)});
}
/// (H, W, C) in place of (C, H, W).
inline Chain channels_last() {
  return one_step(step::ChannelsLast{});
}
}  // namespace penstock::image
