#include <cmath>

#include <penstock/transforms/image/steps/pixel_step.hpp>
#include <penstock/transforms/image/steps/random_erasing.hpp>

namespace penstock {

const StepTable& step::RandomErasing::table() {
  static const TableOf<RandomErasing> table{
      "image.random_erasing",
      "Overwrites a random box, after normalize() and in its units; followers are left alone. As torchvision's "
      "RandomErasing.",
      Parameter{"probability", &RandomErasing::probability, kProbability, "of erasing a box"},
      Parameter{"scale",
                &RandomErasing::scale,
                {.keyword = true, .shown = Shown::by_keyword, .least = 0, .most = 1},
                "of the area, uniform"},
      Parameter{"ratio",
                &RandomErasing::ratio,
                {.keyword = true, .shown = Shown::by_keyword, .least = 0, .most = 1000, .above_least = true},
                "height / width, log-uniform"},
      Parameter{"value",
                &RandomErasing::value,
                {.keyword = true, .shown = Shown::by_keyword},
                "a number, one for each channel, or \"random\": normally distributed"}};
  return table;
}

std::optional<Region> step::RandomErasing::box(Size size, Random& random) const {
  if (random.uniform() >= probability) return std::nullopt;
  const double area = static_cast<double>(size.width) * static_cast<double>(size.height);
  const double log_low = std::log(ratio.low), log_high = std::log(ratio.high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(scale.low, scale.high);
    const double drawn = std::exp(random.uniform(log_low, log_high));
    const std::int64_t height = whole_number_near(std::sqrt(target * drawn));
    const std::int64_t width = whole_number_near(std::sqrt(target / drawn));
    if (height >= size.height || width >= size.width) continue;
    const std::uint64_t top = random.below(static_cast<std::uint64_t>(size.height - height + 1));
    const std::uint64_t left = random.below(static_cast<std::uint64_t>(size.width - width + 1));
    return Region{static_cast<std::int64_t>(left), static_cast<std::int64_t>(top), width, height};
  }
  return std::nullopt;
}

}  // namespace penstock
