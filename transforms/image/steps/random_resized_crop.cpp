#include <algorithm>

#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>
#include <transforms/image/steps/random_box.hpp>

namespace penstock {

const StepTable& step::RandomResizedCrop::table() {
  static const PixelTable<RandomResizedCrop> table{
      "image.random_resized_crop",
      "Crops a random box and resizes it, antialiased like Pillow. Same as torchvision's RandomResizedCrop: ten tries "
      "of a random area and ratio, then the largest central box of an allowed ratio.",
      Parameter{"size", &RandomResizedCrop::size, kPixels, "one number, or (height, width)"},
      Parameter{"scale",
                &RandomResizedCrop::scale,
                {.keyword = true,
                 .shown = Shown::by_keyword,
                 .least = 0,
                 .most = 1,
                 .above_least = true,
                 .one = OneNumber::nothing},
                "area of the box divided by the image's area, drawn uniformly"},
      Parameter{"ratio",
                &RandomResizedCrop::ratio,
                {.keyword = true,
                 .shown = Shown::by_keyword,
                 .least = 0,
                 .most = 1000,
                 .above_least = true,
                 .one = OneNumber::nothing},
                "width / height, drawn log-uniformly"},
      interpolation_of<RandomResizedCrop>()};
  return table;
}

void step::RandomResizedCrop::draw(StepDraw& draw) const {
  const Size before = draw.placement.output();
  const Region region = box(before, draw.random);
  draw.tell([&] { return "drew " + short_text(region) + " of " + short_text(before); });
  draw.placement.crop(region);
  draw.placement.resize(size, interpolation);
}

Region step::RandomResizedCrop::box(Size image, Random& random) const {
  const BoxLimits limits{.scale = scale,
                         .ratio = ratio,
                         .ratio_is = BoxLimits::Ratio::width_by_height,
                         .least = {.width = 1, .height = 1},
                         .most = image};
  if (const std::optional<Region> drawn = draw_box(image, limits, random)) return *drawn;
  const double whole = static_cast<double>(image.width) / static_cast<double>(image.height);
  std::int64_t width = image.width, height = image.height;
  if (whole < ratio.low) {
    height = std::clamp<std::int64_t>(whole_number_near(static_cast<double>(width) / ratio.low), 1, height);
  } else if (whole > ratio.high) {
    width = std::clamp<std::int64_t>(whole_number_near(static_cast<double>(height) * ratio.high), 1, width);
  }
  return {(image.width - width) / 2, (image.height - height) / 2, width, height};
}

Chain image::random_resized_crop(std::int64_t size, std::pair<double, double> scale, std::pair<double, double> ratio,
                                 const std::string& interpolation) {
  return random_resized_crop(size, size, scale, ratio, interpolation);
}

Chain image::random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                                 std::pair<double, double> ratio, const std::string& interpolation) {
  step::RandomResizedCrop crop{.size = {.width = width, .height = height},
                               .scale = {scale.first, scale.second},
                               .ratio = {ratio.first, ratio.second}};
  choose(crop, "interpolation", interpolation);
  return one_step(crop);
}

}  // namespace penstock
