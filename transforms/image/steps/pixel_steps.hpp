// The steps of a chain between the decoded pixels and their normalization, and the passes that they draw for one image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/account.hpp>
#include <penstock/step.hpp>
#include <transforms/image/passes/placement.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// Steps whose tables say pixels().
class PixelSteps {
 public:
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
  static void draw(const Numbered& numbered, const SampleContext& sample, Placement& placement, std::string* told);

  std::vector<Numbered> steps_;
};

}  // namespace penstock
