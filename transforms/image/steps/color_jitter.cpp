#include <algorithm>

#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {
namespace {

Rules factor() {
  return {.shown = Shown::by_keyword, .least = 0, .most = 1e6, .one = OneNumber::about_one};
}

}  // namespace

const StepTable& step::ColorJitter::table() {
  static const PixelTable<ColorJitter> table{
      "image.color_jitter",
      "Changes brightness, contrast, saturation and hue in a random order, like torchvision's ColorJitter.",
      Parameter{"brightness", &ColorJitter::brightness, factor(),
                "factor: (low, high), or x for (max(0, 1 - x), 1 + x)"},
      Parameter{"contrast", &ColorJitter::contrast, factor(), "factor, given like `brightness`"},
      Parameter{"saturation", &ColorJitter::saturation, factor(), "factor, given like `brightness`"},
      Parameter{"hue",
                &ColorJitter::hue,
                {.shown = Shown::by_keyword, .least = -0.5, .most = 0.5, .one = OneNumber::about_zero},
                "shift in turns: (low, high), or x for (-x, x)"},
      Parameter{"probability", &ColorJitter::probability, option(kProbability), "probability of changing an image"}};
  return table;
}

void step::ColorJitter::draw(StepDraw& draw) const {
  if (probability < 1 && !draw.happens(probability, "jittered")) return;
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[draw.random.below(i + 1)]);
  const std::array<std::pair<Range, double>, 4> ranges{{{brightness, 1}, {contrast, 1}, {saturation, 1}, {hue, 0}}};
  std::array<std::optional<double>, 4> factors;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& [range, neutral] = ranges[i];
    if (range != Range{neutral, neutral}) factors[i] = draw.random.uniform(range.low, range.high);
  }
  std::string list;
  for (const std::size_t i : order) {
    if (!factors[i]) continue;
    const auto kind = static_cast<ColorKind>(i);
    draw.placement.color({kind, *factors[i]});
    if (draw.told != nullptr)
      list += (list.empty() ? "" : ", ") + std::string(name(kind)) + " " + short_text(*factors[i]);
  }
  draw.tell([&] { return list.empty() ? "nothing to change" : list; });
}

Chain image::color_jitter(double brightness, double contrast, double saturation, double hue, double probability) {
  const auto about_one = [](double reach) { return Range{std::max(0.0, 1 - reach), 1 + reach}; };
  if (!(brightness >= 0 && contrast >= 0 && saturation >= 0 && hue >= 0))
    throw Error::invalid_argument("image.color_jitter(): brightness, contrast and saturation must not be negative");
  return color_jitter({about_one(brightness), about_one(contrast), about_one(saturation), {-hue, hue}, probability});
}

}  // namespace penstock
