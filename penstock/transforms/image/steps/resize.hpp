// image.resize(): an image of another size.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/geometry.hpp>
#include <penstock/transforms/interpolation.hpp>

namespace penstock::step {
struct Resize {
  Size size;  ///< of width kShortSide: the short side is `height`, and the other one as the image has it
  Interpolation interpolation = Interpolation::bilinear;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .before_device = true};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size> before) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// Resampled, antialiased, to a short side of `short_side` pixels. Keeps the aspect ratio; the long side is truncated
/// to a whole pixel. interpolation: "nearest", "area", "bilinear" or "bicubic". Source:
/// torchvision.transforms.v2.Resize; the pixels are those of Pillow, Resample.c.
Chain resize(std::int64_t short_side, const std::string& interpolation = "bilinear");
/// Resampled to exactly that size, whatever the aspect ratio.
Chain resize(std::int64_t height, std::int64_t width, const std::string& interpolation = "bilinear");
}  // namespace penstock::image
