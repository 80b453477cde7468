#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::Resize::table() {
  static const PixelTable<Resize> table{
      "image.resize", "Resizes, antialiased like Pillow.",
      Parameter{"size", &Resize::size, required({.least = 1, .one = OneNumber::short_side, .unit = "pixels"}),
                "short side, or (height, width); like torchvision, the long side is rounded down to a whole pixel"},
      interpolation_of<Resize>()};
  return table;
}

void step::Resize::draw(StepDraw& draw) const {
  const Size before = draw.placement.output(), after = size_after(before).value();
  draw.tell([&] { return short_text(before) + " to " + short_text(after); });
  draw.placement.resize(after, interpolation);
}

// Source: torchvision 0.20, transforms/functional.py, _compute_resized_output_size.
std::optional<Size> step::Resize::size_after(std::optional<Size> before) const {
  if (size.width != kShortSide || !before) return size.width != kShortSide ? std::optional(size) : std::nullopt;
  const bool upright = before->width <= before->height;
  const auto narrow = static_cast<double>(upright ? before->width : before->height);
  const auto wide = static_cast<double>(upright ? before->height : before->width);
  const auto other = static_cast<std::int64_t>(static_cast<double>(size.height) * wide / narrow);
  return upright ? Size{size.height, other} : Size{other, size.height};
}

Chain image::resize(std::int64_t short_side, const std::string& interpolation) {
  return resize(short_side, kShortSide, interpolation);
}

Chain image::resize(std::int64_t height, std::int64_t width, const std::string& interpolation) {
  step::Resize resize{.size = {.width = width, .height = height}};
  choose(resize, "interpolation", interpolation);
  return one_step(resize);
}

}  // namespace penstock
