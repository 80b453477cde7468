// image.random_erasing(): a random box of the output is overwritten, where it stands in its slot.
#pragma once

#include <vector>

#include <penstock/transforms/chain/step.hpp>
#include <penstock/transforms/chain/step_values.hpp>
#include <penstock/transforms/geometry.hpp>

namespace penstock::step {
struct RandomErasing {
  double probability = 0.5;
  Range scale{0.02, 0.33};          ///< of the area
  Range ratio{0.3, 3.3};            ///< height / width, log-uniform
  std::vector<double> value = {0};  ///< one number, or one for each channel; empty: normally distributed ones
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::image};
  /// The box in an output of `size` pixels, smaller than that in both directions; nothing where none is erased.
  /// Source: torchvision 0.20, transforms/v2/_augment.py, RandomErasing. Draws: whether to erase; then as draw_box().
  std::optional<Region> box(Size size, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::image {
using ErasingKeywords = step::RandomErasing;
/// A random box of the output is overwritten: after normalize(), in its units. Followers are left alone.
/// Source: torchvision.transforms.v2.RandomErasing.
inline Chain random_erasing(const ErasingKeywords& keywords = {}) {
  return one_step(keywords);
}
}  // namespace penstock::image
