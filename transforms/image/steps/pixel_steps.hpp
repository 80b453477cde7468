// The steps of a chain between the decoded pixels and their normalization, and the passes that they draw for one image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/transforms/account.hpp>
#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/image/steps/placement.hpp>
#include <penstock/transforms/program/output.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

class PixelSteps {
 public:
  /// Whether a step is one of these: crops, resizes, flips, pads, rotations and changes of color.
  static bool is_one(const Step& step);

  void add(Step step, std::uint32_t transform);
  bool empty() const { return steps_.empty(); }
  /// The output's size where the steps alone decide it.
  std::optional<Size> fixed_size() const;
  /// Sets `placement`, finished. Throws Error: shape, when a crop does not fit an image of `source` pixels.
  void draw(Size source, const SampleContext& sample, Placement& placement) const;
  /// The same draws, told step by step.
  Outcomes explain(Size source, const SampleContext& sample) const;

 private:
  struct Numbered {
    Step step;
    std::uint32_t transform;
  };
  std::vector<Numbered> steps_;
};

}  // namespace penstock
