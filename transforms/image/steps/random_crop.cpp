#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {
namespace {

// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomCrop.make_params.
Padding padding_of(const step::RandomCrop& crop, Size size) {
  Padding padding = crop.padding;
  if (!crop.pad_if_needed) return padding;
  const std::int64_t lacking_height = crop.size.height - (size.height + padding.top + padding.bottom);
  const std::int64_t lacking_width = crop.size.width - (size.width + padding.left + padding.right);
  if (lacking_height > 0) padding.top += lacking_height, padding.bottom += lacking_height;
  if (lacking_width > 0) padding.left += lacking_width, padding.right += lacking_width;
  return padding;
}

}  // namespace

const StepTable& step::RandomCrop::table() {
  static const PixelTable<RandomCrop> table{
      "image.random_crop",
      "Pads, then crops at a random place, like torchvision's RandomCrop.",
      Parameter{"size", &RandomCrop::size, kPixels, "one number, or (height, width)"},
      Parameter{"padding",
                &RandomCrop::padding,
                {.shown = Shown::unless_usual, .least = 0, .most = 65536, .unit = "pixels"},
                "one number, (left and right, top and bottom), or (left, top, right, bottom)"},
      Parameter{"pad_if_needed", &RandomCrop::pad_if_needed, option({.yes = "true"}),
                "pads images that are smaller than the crop, which are a shape error otherwise"},
      fill_of_step<RandomCrop>("for `constant`: one number, or one for each channel"),
      Parameter{"padding_mode", &RandomCrop::padding_mode, kOption, "values of the pixels outside the image"}};
  return table;
}

void step::RandomCrop::draw(StepDraw& draw) const {
  const Padding added = padding_of(*this, draw.placement.output());
  if (added != Padding{}) draw.placement.pad(added, padding_mode, fill_of(fill));
  const Size padded = draw.placement.output();
  if (size.width > padded.width || size.height > padded.height) {
    throw Error::shape("image.random_crop() of " + short_text(size) + " does not fit an image of " +
                       short_text(padded) + " pixels; pass pad_if_needed=True to pad small images");
  }
  const auto place = [&draw](std::int64_t room) {
    return room == 0 ? 0 : static_cast<std::int64_t>(draw.random.below(static_cast<std::uint64_t>(room + 1)));
  };
  const std::int64_t top = place(padded.height - size.height), left = place(padded.width - size.width);
  const Region region{left, top, size.width, size.height};
  draw.tell([&] {
    return "drew " + short_text(region) + " of " + short_text(padded) + (added != Padding{} ? ", padded" : "");
  });
  draw.placement.crop(region);
}

Chain image::random_crop(std::int64_t size, const CropKeywords& keywords) {
  return random_crop(size, size, keywords);
}

Chain image::random_crop(std::int64_t height, std::int64_t width, const CropKeywords& keywords) {
  step::RandomCrop crop{.size = {.width = width, .height = height},
                        .padding = keywords.padding,
                        .pad_if_needed = keywords.pad_if_needed,
                        .fill = keywords.fill};
  choose(crop, "padding_mode", keywords.padding_mode);
  return one_step(crop);
}

}  // namespace penstock
