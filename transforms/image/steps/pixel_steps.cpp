#include <utility>

#include <transforms/chain/step_table.hpp>
#include <transforms/image/steps/pixel_step.hpp>
#include <transforms/image/steps/pixel_steps.hpp>

namespace penstock {

void PixelSteps::add(Step step, std::uint32_t transform) {
  steps_.push_back({std::move(step), transform});
}

std::optional<Size> PixelSteps::fixed_size() const {
  std::optional<Size> size;
  for (const auto& [step, transform] : steps_) size = step.table().pixels()->size_after(step, size);
  return size;
}

void PixelSteps::draw(Size source, const SampleContext& sample, Placement& placement) const {
  placement.begin(source);
  for (const Numbered& numbered : steps_) draw(numbered, sample, placement, nullptr);
  placement.finish();
}

Outcomes PixelSteps::explain(Size source, const SampleContext& sample) const {
  Placement placement;
  placement.begin(source);
  Outcomes told;
  for (const Numbered& numbered : steps_) {
    std::string outcome;
    draw(numbered, sample, placement, &outcome);
    told.steps.push_back({to_string(numbered.step), outcome});
  }
  placement.finish();
  told.geometry = placement.geometry();
  told.flipped = placement.flipped();
  told.flipped_vertically = placement.flipped_vertically();
  return told;
}

void PixelSteps::draw(const Numbered& numbered, const SampleContext& sample, Placement& placement, std::string* told) {
  const auto& [step, transform] = numbered;
  StepDraw draw{placement, Random(sample.seed, sample.epoch, sample.draws(), transform), told};
  step.table().pixels()->draw(step, draw);
}

}  // namespace penstock
