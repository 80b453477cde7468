// The steps of a chain between decoding and normalisation, and the passes that they draw for an image.
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

/// Contains the steps whose tables have pixels().
class PixelSteps {
 public:
  void add(Step step, std::uint32_t transform);
  bool empty() const { return steps_.empty(); }
  /// Returns the output's size, or nothing if it depends on the image.
  std::optional<Size> fixed_size() const;
  /// Draws and finishes `placement`. Throws Error: shape, if a crop does not fit an image of `source` pixels.
  void draw(Size source, const SampleContext& sample, Placement& placement) const;
  /// Makes the same draws and reports each step.
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
