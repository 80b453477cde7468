// image.center_crop(): the middle of an image.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock::step {
struct CenterCrop {
  Size size;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .before_device = true};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size>) const { return size; }
  bool moves_only() const { return true; }
};
}  // namespace penstock::step

namespace penstock::image {
/// The middle `size` x `size` pixels, offsets rounded half to even. A smaller image is an Error: shape.
/// Source: torchvision.transforms.v2.CenterCrop.
inline Chain center_crop(std::int64_t size) {
  return one_step(step::CenterCrop{.size = {size, size}});
}
}  // namespace penstock::image
