#include <utility>

#include <penstock/transforms/image/steps/pixel_steps.hpp>
#include <penstock/transforms/image/steps/step_draws.hpp>

namespace penstock {
namespace {

// Whether a step is for pixels, told apart at compile time.
struct IsPixelStep {
  template <typename Kind>
  bool operator()(const Kind&) const {
    return is_any_of<Kind, step::RandomResizedCrop, step::Resize, step::CenterCrop, step::RandomCrop, step::PadImage,
                     step::RandomFlip, step::RandomVerticalFlip, step::RandomRotation, step::RandomAffine,
                     step::ColorJitter, step::Grayscale, step::RandomColor, step::GaussianBlur, step::RandAugment,
                     step::TrivialAugment>;
  }
  template <typename Kind, typename... Kinds>
  static constexpr bool is_any_of = (std::is_same_v<Kind, Kinds> || ...);
};

/// The size after a step, where it does not depend on the sample.
struct FixedSize {
  std::optional<Size> before;

  std::optional<Size> operator()(const step::RandomResizedCrop& crop) const { return Size{crop.width, crop.height}; }
  std::optional<Size> operator()(const step::CenterCrop& crop) const { return Size{crop.width, crop.height}; }
  std::optional<Size> operator()(const step::RandomCrop& crop) const { return Size{crop.width, crop.height}; }
  std::optional<Size> operator()(const step::Resize& resize) const {
    if (resize.short_side == 0) return Size{resize.width, resize.height};
    if (!before) return std::nullopt;
    Placement placement;
    placement.begin(*before);
    StepDraw{placement, Random(0, 0, 0, 0), nullptr}(resize);
    return placement.output();
  }
  std::optional<Size> operator()(const step::PadImage& pad) const {
    if (!before) return std::nullopt;
    return Size{before->width + pad.padding.left + pad.padding.right,
                before->height + pad.padding.top + pad.padding.bottom};
  }
  template <typename Other>
  std::optional<Size> operator()(const Other&) const {
    return before;
  }
};

}  // namespace

bool PixelSteps::is_one(const Step& step) {
  return std::visit(IsPixelStep{}, step);
}

void PixelSteps::add(Step step, std::uint32_t transform) {
  steps_.push_back({std::move(step), transform});
}

std::optional<Size> PixelSteps::fixed_size() const {
  std::optional<Size> size;
  for (const Numbered& numbered : steps_) size = std::visit(FixedSize{size}, numbered.step);
  return size;
}

void PixelSteps::draw(Size source, const SampleContext& sample, Placement& placement) const {
  placement.begin(source);
  for (const Numbered& numbered : steps_) {
    const Random random(sample.seed, sample.epoch, sample.draws(), numbered.transform);
    std::visit(StepDraw{placement, random, nullptr}, numbered.step);
  }
  placement.finish();
}

Outcomes PixelSteps::explain(Size source, const SampleContext& sample) const {
  Placement placement;
  placement.begin(source);
  Outcomes told;
  for (const Numbered& numbered : steps_) {
    const Random random(sample.seed, sample.epoch, sample.draws(), numbered.transform);
    std::string outcome;
    std::visit(StepDraw{placement, random, &outcome}, numbered.step);
    told.steps.push_back({to_string(numbered.step), outcome});
  }
  placement.finish();
  told.geometry = placement.geometry();
  told.flipped = placement.flipped();
  told.flipped_vertically = placement.flipped_vertically();
  return told;
}

}  // namespace penstock
