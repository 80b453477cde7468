#include <algorithm>

#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::Normalize::table() {
  static const TableOf<Normalize> table{
      "image.normalize",
      "out[c,y,x] = (in[y,x,c] / 255 - mean[c]) / std[c]: float32 (C, H, W), like torchvision's ToTensor and "
      "Normalize.",
      Parameter{"mean", &Normalize::mean, kRequired, "one mean for each channel of the image: 1 or 3"},
      Parameter{"std", &Normalize::stddev, required({.least = 0, .above_least = true}),
                "one standard deviation for each channel: 1 or 3"}};
  return table;
}

void step::Normalize::check() const {
  if (mean.size() != stddev.size() || (mean.size() != 1 && mean.size() != 3)) {
    throw Error::invalid_argument("image.normalize() needs equally many means and deviations: 3, or 1 for gray images");
  }
  if (!std::ranges::all_of(stddev, [](float deviation) { return deviation > 0; }))
    throw Error::invalid_argument("image.normalize() needs deviations above 0");
}

const StepTable& step::ChannelsLast::table() {
  static const TableOf<ChannelsLast> table{"image.channels_last", "Layout (H, W, C) instead of (C, H, W)."};
  return table;
}

}  // namespace penstock
