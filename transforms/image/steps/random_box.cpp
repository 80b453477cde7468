#include <cmath>
#include <utility>

#include <base/numbers/portable_math.hpp>
#include <transforms/image/steps/pixel_step.hpp>
#include <transforms/image/steps/random_box.hpp>

namespace penstock {

std::optional<Region> draw_box(Size whole, const BoxLimits& limits, Random& random) {
  const auto [scale, ratio, ratio_is, least, most] = limits;
  const double area = static_cast<double>(whole.width) * static_cast<double>(whole.height);
  const double log_low = portable::log(ratio.low), log_high = portable::log(ratio.high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(scale.low, scale.high);
    const double drawn = portable::exp(random.uniform(log_low, log_high));
    std::int64_t width = whole_number_near(std::sqrt(target * drawn));
    std::int64_t height = whole_number_near(std::sqrt(target / drawn));
    if (ratio_is == BoxLimits::Ratio::height_by_width) std::swap(width, height);
    if (width < least.width || width > most.width || height < least.height || height > most.height) continue;
    const std::uint64_t top = random.below(static_cast<std::uint64_t>(whole.height - height + 1));
    const std::uint64_t left = random.below(static_cast<std::uint64_t>(whole.width - width + 1));
    return Region{static_cast<std::int64_t>(left), static_cast<std::int64_t>(top), width, height};
  }
  return std::nullopt;
}

}  // namespace penstock
