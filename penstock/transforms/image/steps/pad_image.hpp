// image.pad(): pixels around an image.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock::step {
struct PadImage {
  Padding padding;
  Fill fill = {0};
  PaddingMode padding_mode = PaddingMode::constant;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size> before) const;
};
}  // namespace penstock::step

namespace penstock::image {
struct PadKeywords {
  Fill fill = {0};                        ///< of "constant"
  std::string padding_mode = "constant";  ///< or "edge", "reflect", "symmetric": see PaddingMode
};
/// `padding` pixels more at each side. Source: torchvision.transforms.v2.Pad.
Chain pad(const Padding& padding, const PadKeywords& keywords = {});
}  // namespace penstock::image
