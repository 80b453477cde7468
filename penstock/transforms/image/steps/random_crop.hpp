// image.random_crop(): a crop at a random place.
#pragma once

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock::step {
struct RandomCrop {
  Size size;
  Padding padding;
  bool pad_if_needed = false;
  Fill fill = {0};
  PaddingMode padding_mode = PaddingMode::constant;
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< top, left: those that have a choice
  std::optional<Size> size_after(std::optional<Size>) const { return size; }
  bool moves_only() const { return padding == Padding{} && !pad_if_needed; }
};
}  // namespace penstock::step

namespace penstock::image {
struct CropKeywords {
  Padding padding = {};        ///< added first
  bool pad_if_needed = false;  ///< else an image smaller than the crop is an Error: shape
  Fill fill = {0};             ///< of "constant"
  std::string padding_mode = "constant";
};
/// `size` x `size` pixels at a random place of the image, padded first. Source: torchvision.transforms.v2.RandomCrop.
Chain random_crop(std::int64_t size, const CropKeywords& keywords = {});
Chain random_crop(std::int64_t height, std::int64_t width, const CropKeywords& keywords = {});
}  // namespace penstock::image
