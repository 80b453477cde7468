#include <array>

#include <penstock/transforms/chain/builders.hpp>

namespace penstock::chain_parse {
namespace {

Chain center_crop(StepArguments& given) {
  const auto sides = given.two_sides();
  if (!sides) return image::center_crop(given.whole(0, "size"));
  return one_step(step::CenterCrop{.width = sides->second, .height = sides->first});
}

Chain random_resized_crop(StepArguments& given) {
  const auto sides = given.two_sides();
  const std::int64_t height = sides ? sides->first : given.whole(0, "size");
  return image::random_resized_crop(height, sides ? sides->second : height, given.range("scale", {0.08, 1.0}),
                                    given.range("ratio", {3.0 / 4.0, 4.0 / 3.0}),
                                    given.text(StepArguments::kByKeyword, "interpolation", "bilinear"));
}

Chain resize(StepArguments& given) {
  const auto sides = given.two_sides();
  const std::string interpolation = given.text(StepArguments::kByKeyword, "interpolation", "bilinear");
  return sides ? image::resize(sides->first, sides->second, interpolation)
               : image::resize(given.whole(0, "size"), interpolation);
}

Chain random_crop(StepArguments& given) {
  const auto sides = given.two_sides();
  const std::int64_t height = sides ? sides->first : given.whole(0, "size");
  return image::random_crop(height, sides ? sides->second : height,
                            {.padding = given.padding(StepArguments::kByKeyword, "padding"),
                             .pad_if_needed = given.flag("pad_if_needed"),
                             .fill = given.fill(StepArguments::kByKeyword),
                             .padding_mode = given.text(StepArguments::kByKeyword, "padding_mode", "constant")});
}

Chain pad(StepArguments& given) {
  given.get(0, "padding");
  return image::pad(given.padding(0, "padding"),
                    {.fill = given.fill(1), .padding_mode = given.text(2, "padding_mode", "constant")});
}

Range about_zero(double reach) {
  return {-reach, reach};
}

Range about_one(double reach) {
  if (!(reach >= 0)) throw misfit("takes no negative numbers");
  return {std::max(0.0, 1 - reach), 1 + reach};
}

Range exactly(double value) {
  return {value, value};
}

Range degrees_in(StepArguments& given) {
  given.get(0, "degrees");
  return given.span(0, "degrees", {}, about_zero);
}

Chain random_rotation(StepArguments& given) {
  return image::random_rotation(degrees_in(given), given.text(1, "interpolation", "nearest"), given.fill(2));
}

Chain random_affine(StepArguments& given) {
  const Range degrees = degrees_in(given);
  const auto [across, down] = given.range("translate", {0, 0});
  image::AffineKeywords keywords{.translate_x = across, .translate_y = down};
  keywords.scale = given.span(StepArguments::kByKeyword, "scale", {1, 1}, exactly);
  const Argument* shear = given.find(StepArguments::kByKeyword, "shear");
  if (shear != nullptr && shear->numbers.size() == 4) {
    keywords.shear_x = {shear->numbers[0], shear->numbers[1]};
    keywords.shear_y = {shear->numbers[2], shear->numbers[3]};
  } else {
    keywords.shear_x = given.span(StepArguments::kByKeyword, "shear", {0, 0}, about_zero);
  }
  keywords.interpolation = given.text(StepArguments::kByKeyword, "interpolation", "nearest");
  keywords.fill = given.fill(StepArguments::kByKeyword);
  return image::random_affine(degrees, keywords);
}

Chain color_jitter(StepArguments& given) {
  return image::color_jitter({.brightness = given.span(0, "brightness", {1, 1}, about_one),
                              .contrast = given.span(1, "contrast", {1, 1}, about_one),
                              .saturation = given.span(2, "saturation", {1, 1}, about_one),
                              .hue = given.span(3, "hue", {0, 0}, about_zero),
                              .probability = given.real(4, "probability", 1)});
}

Chain gaussian_blur(StepArguments& given) {
  const std::int64_t height = given.whole(0, "kernel");
  const bool square = given.find(1, "") == nullptr;
  return image::gaussian_blur(height, square ? height : given.whole(1, "width"),
                              given.span(StepArguments::kByKeyword, "sigma", {0.1, 2.0}, exactly),
                              given.real(StepArguments::kByKeyword, "probability", 1));
}

Chain random_erasing(StepArguments& given) {
  image::ErasingKeywords keywords{.probability = given.real(0, "probability", 0.5)};
  keywords.scale = given.span(1, "scale", keywords.scale, exactly);
  keywords.ratio = given.span(2, "ratio", keywords.ratio, exactly);
  if (const Argument* value = given.find(3, "value")) {
    keywords.value = value->numbers;
    if (keywords.value.empty() && value->word != "random") throw misfit("value is to be numbers or random");
  }
  return image::random_erasing(keywords);
}

constexpr std::array kBuilders{
    Builder{"image.cast", [](StepArguments& given) { return image::cast(given.dtype()); }},
    Builder{"image.center_crop", center_crop},
    table_builder<step::ChannelsLast>(),
    Builder{"image.color_jitter", color_jitter},
    Builder{
        "image.decode",
        [](StepArguments& given) { return image::decode(given.flag("fast"), given.flag("apply_exif_orientation")); }},
    Builder{"image.gaussian_blur", gaussian_blur},
    Builder{"image.grayscale", [](StepArguments& given) { return image::grayscale(given.whole(0, "channels", 1)); }},
    Builder{"image.normalize",
            [](StepArguments& given) { return image::normalize(given.floats(0, "mean"), given.floats(1, "stddev")); }},
    Builder{"image.pad", pad},
    Builder{"image.rand_augment",
            [](StepArguments& given) {
              return image::rand_augment(given.whole(0, "num_ops", 2), given.whole(1, "magnitude", 9),
                                         given.whole(2, "bins", 31), given.text(3, "interpolation", "nearest"),
                                         given.fill(4));
            }},
    Builder{"image.random_affine", random_affine},
    Builder{"image.random_autocontrast",
            [](StepArguments& given) { return image::random_autocontrast(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_crop", random_crop},
    Builder{"image.random_equalize",
            [](StepArguments& given) { return image::random_equalize(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_erasing", random_erasing},
    table_builder<step::RandomFlip>(),
    Builder{"image.random_grayscale",
            [](StepArguments& given) { return image::random_grayscale(given.real(0, "probability", 0.1)); }},
    Builder{"image.random_invert",
            [](StepArguments& given) { return image::random_invert(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_posterize",
            [](StepArguments& given) {
              return image::random_posterize(given.whole(0, "bits"), given.real(1, "probability", 0.5));
            }},
    Builder{"image.random_resized_crop", random_resized_crop},
    Builder{"image.random_rotation", random_rotation},
    Builder{"image.random_sharpness",
            [](StepArguments& given) {
              given.get(0, "factor");
              return image::random_sharpness(given.real(0, "factor", 1), given.real(1, "probability", 0.5));
            }},
    Builder{"image.random_solarize",
            [](StepArguments& given) {
              given.get(0, "threshold");
              return image::random_solarize(given.real(0, "threshold", 0), given.real(1, "probability", 0.5));
            }},
    table_builder<step::RandomVerticalFlip>(),
    Builder{"image.resize", resize},
    Builder{"image.trivial_augment",
            [](StepArguments& given) {
              return image::trivial_augment(given.whole(0, "bins", 31), given.text(1, "interpolation", "nearest"),
                                            given.fill(2));
            }},
};

}  // namespace

std::span<const Builder> image_builders() {
  return kBuilders;
}

}  // namespace penstock::chain_parse
