#include <penstock/image.hpp>
#include <transforms/chain/parameter.hpp>
#include <transforms/image/steps/random_box.hpp>

namespace penstock {

const StepTable& step::RandomErasing::table() {
  static const TableOf<RandomErasing> table{
      "image.random_erasing",
      "Overwrites a random box, like torchvision's RandomErasing. Comes after normalize() and uses its units. Paired "
      "outputs do not change.",
      Parameter{"probability", &RandomErasing::probability, kProbability, "probability of erasing a box"},
      Parameter{"scale",
                &RandomErasing::scale,
                {.keyword = true, .shown = Shown::by_keyword, .least = 0, .most = 1},
                "area of the box divided by the image's area, drawn uniformly"},
      Parameter{"ratio",
                &RandomErasing::ratio,
                {.keyword = true, .shown = Shown::by_keyword, .least = 0, .most = 1000, .above_least = true},
                "height / width, drawn log-uniformly"},
      Parameter{"value",
                &RandomErasing::value,
                {.keyword = true, .shown = Shown::by_keyword},
                "one number, one for each channel, or \"random\" for normally distributed values"}};
  return table;
}

std::optional<Region> step::RandomErasing::box(Size size, Random& random) const {
  if (random.uniform() >= probability) return std::nullopt;
  return draw_box(size,
                  {.scale = scale,
                   .ratio = ratio,
                   .ratio_is = BoxLimits::Ratio::height_by_width,
                   .least = {.width = 0, .height = 0},
                   .most = {.width = size.width - 1, .height = size.height - 1}},
                  random);
}

}  // namespace penstock
