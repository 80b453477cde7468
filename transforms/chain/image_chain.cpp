#include <algorithm>
#include <array>
#include <cmath>

#include <penstock/transforms/chain/chain.hpp>

namespace penstock::image {
namespace {

Chain one(Step step) {
  Chain chain;
  chain.steps.push_back(std::move(step));
  return chain;
}

std::string said(const char* step, const std::string& cause) {
  return std::string("image.") + step + "(): " + cause;
}

// Of a resize, which has all four.
Interpolation filter_of(const char* step, const std::string& spelled, std::string& misuse) {
  const auto known = interpolation_named(spelled);
  if (!known) misuse = said(step, "interpolation is nearest, area, bilinear or bicubic, not \"" + spelled + "\"");
  return known.value_or(Interpolation::bilinear);
}

// Of a rotation or affine map, where a pixel is interpolated at one point.
Interpolation interpolation_of(const char* step, const std::string& spelled, std::string& misuse) {
  const auto known = interpolation_named(spelled);
  if (!known || *known == Interpolation::area)
    misuse = said(step, "interpolation is nearest, bilinear or bicubic, not \"" + spelled + "\"");
  return known.value_or(Interpolation::nearest);
}

PaddingMode mode_of(const char* step, const std::string& spelled, std::string& misuse) {
  for (const PaddingMode mode :
       {PaddingMode::constant, PaddingMode::edge, PaddingMode::reflect, PaddingMode::symmetric}) {
    if (name(mode) == spelled) return mode;
  }
  misuse = said(step, "padding_mode is constant, edge, reflect or symmetric, not \"" + spelled + "\"");
  return PaddingMode::constant;
}

template <typename Kind>
Chain made(Kind step, std::string misuse) {
  Chain chain = one(std::move(step));
  chain.misuse = std::move(misuse);
  return chain;
}

Chain random_color(ColorKind kind, double amount, double probability) {
  return one(step::RandomColor{.kind = kind, .amount = amount, .probability = probability});
}

}  // namespace

Chain decode(bool fast, bool apply_exif_orientation) {
  return one(step::Decode{.fast = fast, .upright = apply_exif_orientation});
}

Chain random_resized_crop(std::int64_t size, std::pair<double, double> scale, std::pair<double, double> ratio,
                          const std::string& interpolation) {
  return random_resized_crop(size, size, scale, ratio, interpolation);
}

Chain random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                          std::pair<double, double> ratio, const std::string& interpolation) {
  std::string misuse;
  const Interpolation filter = filter_of("random_resized_crop", interpolation, misuse);
  return made(step::RandomResizedCrop{.width = width,
                                      .height = height,
                                      .scale_min = scale.first,
                                      .scale_max = scale.second,
                                      .ratio_min = ratio.first,
                                      .ratio_max = ratio.second,
                                      .interpolation = filter},
              misuse);
}

Chain resize(std::int64_t short_side, const std::string& interpolation) {
  std::string misuse;
  const Interpolation filter = filter_of("resize", interpolation, misuse);
  if (short_side <= 0) misuse = "image.resize() needs a size of at least 1 pixel";
  return made(step::Resize{.short_side = short_side, .width = 0, .height = 0, .interpolation = filter}, misuse);
}

Chain resize(std::int64_t height, std::int64_t width, const std::string& interpolation) {
  std::string misuse;
  const Interpolation filter = filter_of("resize", interpolation, misuse);
  return made(step::Resize{.short_side = 0, .width = width, .height = height, .interpolation = filter}, misuse);
}

Chain center_crop(std::int64_t size) {
  return one(step::CenterCrop{.width = size, .height = size});
}

Chain pad(const Padding& padding, const PadKeywords& keywords) {
  std::string misuse;
  const PaddingMode mode = mode_of("pad", keywords.padding_mode, misuse);
  return made(step::PadImage{.padding = padding, .mode = mode, .fill = keywords.fill}, misuse);
}

Chain random_crop(std::int64_t size, const CropKeywords& keywords) {
  return random_crop(size, size, keywords);
}

Chain random_crop(std::int64_t height, std::int64_t width, const CropKeywords& keywords) {
  std::string misuse;
  const PaddingMode mode = mode_of("random_crop", keywords.padding_mode, misuse);
  return made(step::RandomCrop{.width = width,
                               .height = height,
                               .padding = keywords.padding,
                               .pad_if_needed = keywords.pad_if_needed,
                               .mode = mode,
                               .fill = keywords.fill},
              misuse);
}

Chain random_flip(double probability) {
  return one(step::RandomFlip{.probability = probability});
}

Chain random_vertical_flip(double probability) {
  return one(step::RandomVerticalFlip{.probability = probability});
}

Chain random_rotation(Range degrees, const std::string& interpolation, Fill fill) {
  std::string misuse;
  const Interpolation known = interpolation_of("random_rotation", interpolation, misuse);
  return made(step::RandomRotation{.degrees = degrees, .interpolation = known, .fill = std::move(fill)}, misuse);
}

Chain random_affine(Range degrees, const AffineKeywords& keywords) {
  std::string misuse;
  const Interpolation known = interpolation_of("random_affine", keywords.interpolation, misuse);
  return made(step::RandomAffine{.degrees = degrees,
                                 .translate_x = keywords.translate_x,
                                 .translate_y = keywords.translate_y,
                                 .scale = keywords.scale,
                                 .shear_x = keywords.shear_x,
                                 .shear_y = keywords.shear_y,
                                 .interpolation = known,
                                 .fill = keywords.fill},
              misuse);
}

Chain color_jitter(const JitterKeywords& keywords) {
  return one(step::ColorJitter{.brightness = keywords.brightness,
                               .contrast = keywords.contrast,
                               .saturation = keywords.saturation,
                               .hue = keywords.hue,
                               .probability = keywords.probability});
}

Chain color_jitter(double brightness, double contrast, double saturation, double hue, double probability) {
  const auto about_one = [](double reach) { return Range{std::max(0.0, 1 - reach), 1 + reach}; };
  Chain chain = color_jitter({.brightness = about_one(brightness),
                              .contrast = about_one(contrast),
                              .saturation = about_one(saturation),
                              .hue = {-hue, hue},
                              .probability = probability});
  if (!(brightness >= 0 && contrast >= 0 && saturation >= 0 && hue >= 0))
    chain.misuse = "image.color_jitter(): a single number must not be negative";
  return chain;
}

Chain grayscale(std::int64_t channels) {
  return one(step::Grayscale{.channels = channels});
}

Chain random_grayscale(double probability) {
  return random_color(ColorKind::grayscale, 3, probability);
}

Chain random_invert(double probability) {
  return random_color(ColorKind::invert, 0, probability);
}

Chain random_posterize(std::int64_t bits, double probability) {
  return random_color(ColorKind::posterize, static_cast<double>(bits), probability);
}

Chain random_solarize(double threshold, double probability) {
  return random_color(ColorKind::solarize, threshold, probability);
}

Chain random_sharpness(double factor, double probability) {
  return random_color(ColorKind::sharpness, factor, probability);
}

Chain random_autocontrast(double probability) {
  return random_color(ColorKind::autocontrast, 0, probability);
}

Chain random_equalize(double probability) {
  return random_color(ColorKind::equalize, 0, probability);
}

Chain gaussian_blur(std::int64_t kernel, Range sigma, double probability) {
  return gaussian_blur(kernel, kernel, sigma, probability);
}

Chain gaussian_blur(std::int64_t kernel_height, std::int64_t kernel_width, Range sigma, double probability) {
  return one(step::GaussianBlur{
      .kernel_width = kernel_width, .kernel_height = kernel_height, .sigma = sigma, .probability = probability});
}

Chain rand_augment(std::int64_t num_ops, std::int64_t magnitude, std::int64_t bins, const std::string& interpolation,
                   Fill fill) {
  std::string misuse;
  const Interpolation known = interpolation_of("rand_augment", interpolation, misuse);
  return made(
      step::RandAugment{
          .num_ops = num_ops, .magnitude = magnitude, .bins = bins, .interpolation = known, .fill = std::move(fill)},
      misuse);
}

Chain trivial_augment(std::int64_t bins, const std::string& interpolation, Fill fill) {
  std::string misuse;
  const Interpolation known = interpolation_of("trivial_augment", interpolation, misuse);
  return made(step::TrivialAugment{.bins = bins, .interpolation = known, .fill = std::move(fill)}, misuse);
}

Chain normalize(std::vector<float> mean, std::vector<float> stddev) {
  return one(step::Normalize{.mean = std::move(mean), .stddev = std::move(stddev)});
}

Chain cast(DType dtype) {
  return one(step::Cast{.dtype = dtype});
}

Chain channels_last() {
  return one(step::ChannelsLast{});
}

Chain random_erasing(const ErasingKeywords& keywords) {
  return one(step::RandomErasing{
      .probability = keywords.probability, .scale = keywords.scale, .ratio = keywords.ratio, .value = keywords.value});
}

}  // namespace penstock::image
