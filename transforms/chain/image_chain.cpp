#include <algorithm>
#include <array>
#include <cmath>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/chain/check_numbers.hpp>

namespace penstock::image {
namespace {

[[noreturn]] void refuse(const char* step, const std::string& cause) {
  throw Error::invalid_argument(std::string("image.") + step + "(): " + cause);
}

// Of a resize, which has all four.
Interpolation filter_of(const char* step, const std::string& spelled) {
  const auto known = interpolation_named(spelled);
  if (!known) refuse(step, "interpolation is nearest, area, bilinear or bicubic, not \"" + spelled + "\"");
  return *known;
}

// Of a rotation or affine map, where a pixel is interpolated at one point.
Interpolation interpolation_of(const char* step, const std::string& spelled) {
  const auto known = interpolation_named(spelled);
  if (!known || *known == Interpolation::area)
    refuse(step, "interpolation is nearest, bilinear or bicubic, not \"" + spelled + "\"");
  return *known;
}

PaddingMode mode_of(const char* step, const std::string& spelled) {
  for (const PaddingMode mode :
       {PaddingMode::constant, PaddingMode::edge, PaddingMode::reflect, PaddingMode::symmetric}) {
    if (name(mode) == spelled) return mode;
  }
  refuse(step, "padding_mode is constant, edge, reflect or symmetric, not \"" + spelled + "\"");
}

Chain random_color(ColorKind kind, double amount, double probability) {
  return one_step(step::RandomColor{.kind = kind, .amount = amount, .probability = probability});
}

}  // namespace

Chain decode(bool fast, bool apply_exif_orientation) {
  return one_step(step::Decode{.fast = fast, .upright = apply_exif_orientation});
}

Chain random_resized_crop(std::int64_t size, std::pair<double, double> scale, std::pair<double, double> ratio,
                          const std::string& interpolation) {
  return random_resized_crop(size, size, scale, ratio, interpolation);
}

Chain random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                          std::pair<double, double> ratio, const std::string& interpolation) {
  const Interpolation filter = filter_of("random_resized_crop", interpolation);
  return one_step(step::RandomResizedCrop{.width = width,
                                          .height = height,
                                          .scale_min = scale.first,
                                          .scale_max = scale.second,
                                          .ratio_min = ratio.first,
                                          .ratio_max = ratio.second,
                                          .interpolation = filter});
}

Chain resize(std::int64_t short_side, const std::string& interpolation) {
  const Interpolation filter = filter_of("resize", interpolation);
  if (short_side <= 0) throw Error::invalid_argument("image.resize() needs a size of at least 1 pixel");
  return one_step(step::Resize{.short_side = short_side, .width = 0, .height = 0, .interpolation = filter});
}

Chain resize(std::int64_t height, std::int64_t width, const std::string& interpolation) {
  const Interpolation filter = filter_of("resize", interpolation);
  return one_step(step::Resize{.short_side = 0, .width = width, .height = height, .interpolation = filter});
}

Chain center_crop(std::int64_t size) {
  return one_step(step::CenterCrop{.width = size, .height = size});
}

Chain pad(const Padding& padding, const PadKeywords& keywords) {
  const PaddingMode mode = mode_of("pad", keywords.padding_mode);
  return one_step(step::PadImage{.padding = padding, .mode = mode, .fill = keywords.fill});
}

Chain random_crop(std::int64_t size, const CropKeywords& keywords) {
  return random_crop(size, size, keywords);
}

Chain random_crop(std::int64_t height, std::int64_t width, const CropKeywords& keywords) {
  const PaddingMode mode = mode_of("random_crop", keywords.padding_mode);
  return one_step(step::RandomCrop{.width = width,
                                   .height = height,
                                   .padding = keywords.padding,
                                   .pad_if_needed = keywords.pad_if_needed,
                                   .mode = mode,
                                   .fill = keywords.fill});
}

Chain random_flip(double probability) {
  return one_step(step::RandomFlip{.probability = probability});
}

Chain random_vertical_flip(double probability) {
  return one_step(step::RandomVerticalFlip{.probability = probability});
}

Chain random_rotation(Range degrees, const std::string& interpolation, Fill fill) {
  const Interpolation known = interpolation_of("random_rotation", interpolation);
  return one_step(step::RandomRotation{.degrees = degrees, .interpolation = known, .fill = std::move(fill)});
}

Chain random_affine(Range degrees, const AffineKeywords& keywords) {
  const Interpolation known = interpolation_of("random_affine", keywords.interpolation);
  return one_step(step::RandomAffine{.degrees = degrees,
                                     .translate_x = keywords.translate_x,
                                     .translate_y = keywords.translate_y,
                                     .scale = keywords.scale,
                                     .shear_x = keywords.shear_x,
                                     .shear_y = keywords.shear_y,
                                     .interpolation = known,
                                     .fill = keywords.fill});
}

Chain color_jitter(const JitterKeywords& keywords) {
  return one_step(step::ColorJitter{.brightness = keywords.brightness,
                                    .contrast = keywords.contrast,
                                    .saturation = keywords.saturation,
                                    .hue = keywords.hue,
                                    .probability = keywords.probability});
}

Chain color_jitter(double brightness, double contrast, double saturation, double hue, double probability) {
  const auto about_one = [](double reach) { return Range{std::max(0.0, 1 - reach), 1 + reach}; };
  if (!(brightness >= 0 && contrast >= 0 && saturation >= 0 && hue >= 0))
    throw Error::invalid_argument("image.color_jitter(): a single number must not be negative");
  return color_jitter({.brightness = about_one(brightness),
                       .contrast = about_one(contrast),
                       .saturation = about_one(saturation),
                       .hue = {-hue, hue},
                       .probability = probability});
}

Chain grayscale(std::int64_t channels) {
  return one_step(step::Grayscale{.channels = channels});
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
  return one_step(step::GaussianBlur{
      .kernel_width = kernel_width, .kernel_height = kernel_height, .sigma = sigma, .probability = probability});
}

Chain rand_augment(std::int64_t num_ops, std::int64_t magnitude, std::int64_t bins, const std::string& interpolation,
                   Fill fill) {
  const Interpolation known = interpolation_of("rand_augment", interpolation);
  return one_step(step::RandAugment{
      .num_ops = num_ops, .magnitude = magnitude, .bins = bins, .interpolation = known, .fill = std::move(fill)});
}

Chain trivial_augment(std::int64_t bins, const std::string& interpolation, Fill fill) {
  const Interpolation known = interpolation_of("trivial_augment", interpolation);
  return one_step(step::TrivialAugment{.bins = bins, .interpolation = known, .fill = std::move(fill)});
}

Chain normalize(std::vector<float> mean, std::vector<float> stddev) {
  return one_step(step::Normalize{.mean = std::move(mean), .stddev = std::move(stddev)});
}

Chain cast(DType dtype) {
  return one_step(step::Cast{.dtype = dtype});
}

Chain channels_last() {
  return one_step(step::ChannelsLast{});
}

Chain random_erasing(const ErasingKeywords& keywords) {
  return one_step(step::RandomErasing{
      .probability = keywords.probability, .scale = keywords.scale, .ratio = keywords.ratio, .value = keywords.value});
}

}  // namespace penstock::image
