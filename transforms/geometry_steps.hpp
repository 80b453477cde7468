// The geometric steps of a chain, and the Geometry they draw for one image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/transforms/account.hpp>
#include <penstock/transforms/chain.hpp>
#include <penstock/transforms/geometry.hpp>
#include <penstock/transforms/program.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {

/// The box of a random_resized_crop in an image of `size` pixels.
/// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomResizedCrop.make_params: ten tries of an area uniform in
/// `scale` and a ratio log-uniform in `ratio`, then the largest central box of an allowed ratio. Draws, in this order,
/// for each try: area, ratio, and, if the box fits, its top and its left.
Region draw_resized_crop(const step::RandomResizedCrop& crop, Size size, Random& random);

class GeometrySteps {
 public:
  /// Whether a step is one of these: random_resized_crop, resize, center_crop, random_flip.
  static bool is_geometric(const Step& step);

  void add(Step step, std::uint32_t transform);
  bool empty() const { return steps_.empty(); }
  /// The output's size where the steps alone decide it.
  std::optional<Size> fixed_size() const;
  /// Throws Error: shape, when a crop does not fit an image of `source` pixels.
  Geometry draw(Size source, const SampleContext& sample) const;
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
