#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/transforms/image/steps/auto_augment.hpp>
#include <penstock/transforms/image/steps/short_text.hpp>
#include <penstock/transforms/image/steps/step_draws.hpp>

namespace penstock {
namespace {

Region centered(Size size, std::int64_t width, std::int64_t height) {
  return {(size.width - width) / 2, (size.height - height) / 2, width, height};
}

std::string text(Size size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

std::string text(const Region& region) {
  return text(Size{region.width, region.height}) + " at x " + std::to_string(region.x) + ", y " +
         std::to_string(region.y);
}

std::string text(const Padding& padding) {
  return std::to_string(padding.left) + ", " + std::to_string(padding.top) + ", " + std::to_string(padding.right) +
         ", " + std::to_string(padding.bottom);
}

// Source: torchvision 0.20, transforms/functional.py, _compute_resized_output_size.
Size resized_size(const step::Resize& resize, Size size) {
  if (resize.short_side == 0) return {resize.width, resize.height};
  const bool upright = size.width <= size.height;
  const std::int64_t narrow = upright ? size.width : size.height, wide = upright ? size.height : size.width;
  const auto other = static_cast<std::int64_t>(static_cast<double>(resize.short_side) * static_cast<double>(wide) /
                                               static_cast<double>(narrow));
  return upright ? Size{resize.short_side, other} : Size{other, resize.short_side};
}

// Source: torchvision 0.20, transforms/functional.py, center_crop; images smaller than the crop are not padded here.
Region center_crop_region(const step::CenterCrop& crop, Size size) {
  if (crop.width > size.width || crop.height > size.height) {
    throw Error::shape("image.center_crop() of " + text(Size{crop.width, crop.height}) + " does not fit an image of " +
                       text(size) + " pixels; image.resize() before it would make it fit");
  }
  return {whole_number_near(static_cast<double>(size.width - crop.width) / 2.0),
          whole_number_near(static_cast<double>(size.height - crop.height) / 2.0), crop.width, crop.height};
}

// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomCrop.make_params.
Padding padding_of(const step::RandomCrop& crop, Size size) {
  Padding padding = crop.padding;
  if (!crop.pad_if_needed) return padding;
  const std::int64_t lacking_height = crop.height - (size.height + padding.top + padding.bottom);
  const std::int64_t lacking_width = crop.width - (size.width + padding.left + padding.right);
  if (lacking_height > 0) padding.top += lacking_height, padding.bottom += lacking_height;
  if (lacking_width > 0) padding.left += lacking_width, padding.right += lacking_width;
  return padding;
}

}  // namespace

std::int64_t whole_number_near(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

std::array<std::uint8_t, 4> fill_of(const Fill& fill) {
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t c = 0; c < bytes.size() && !fill.empty(); ++c)
    bytes[c] = static_cast<std::uint8_t>(fill[std::min(c, fill.size() - 1)]);
  return bytes;
}

Region draw_resized_crop(const step::RandomResizedCrop& crop, Size size, Random& random) {
  const double area = static_cast<double>(size.width) * static_cast<double>(size.height);
  const double log_low = std::log(crop.ratio_min), log_high = std::log(crop.ratio_max);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(crop.scale_min, crop.scale_max);
    const double ratio = std::exp(random.uniform(log_low, log_high));
    const std::int64_t width = whole_number_near(std::sqrt(target * ratio));
    const std::int64_t height = whole_number_near(std::sqrt(target / ratio));
    if (width < 1 || width > size.width || height < 1 || height > size.height) continue;
    const std::uint64_t top = random.below(static_cast<std::uint64_t>(size.height - height + 1));
    const std::uint64_t left = random.below(static_cast<std::uint64_t>(size.width - width + 1));
    return {static_cast<std::int64_t>(left), static_cast<std::int64_t>(top), width, height};
  }
  const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
  std::int64_t width = size.width, height = size.height;
  if (ratio < crop.ratio_min) {
    height = std::clamp<std::int64_t>(whole_number_near(static_cast<double>(width) / crop.ratio_min), 1, height);
  } else if (ratio > crop.ratio_max) {
    width = std::clamp<std::int64_t>(whole_number_near(static_cast<double>(height) * crop.ratio_max), 1, width);
  }
  return centered(size, width, height);
}

std::optional<Region> draw_erasing(const step::RandomErasing& erasing, Size size, Random& random) {
  if (random.uniform() >= erasing.probability) return std::nullopt;
  const double area = static_cast<double>(size.width) * static_cast<double>(size.height);
  const double log_low = std::log(erasing.ratio.low), log_high = std::log(erasing.ratio.high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(erasing.scale.low, erasing.scale.high);
    const double ratio = std::exp(random.uniform(log_low, log_high));
    const std::int64_t height = whole_number_near(std::sqrt(target * ratio));
    const std::int64_t width = whole_number_near(std::sqrt(target / ratio));
    if (height >= size.height || width >= size.width) continue;
    const std::uint64_t top = random.below(static_cast<std::uint64_t>(size.height - height + 1));
    const std::uint64_t left = random.below(static_cast<std::uint64_t>(size.width - width + 1));
    return Region{static_cast<std::int64_t>(left), static_cast<std::int64_t>(top), width, height};
  }
  return std::nullopt;
}

bool StepDraw::happens(double probability, const char* what) {
  const double drawn = random.uniform();
  const bool yes = drawn < probability;
  if (told != nullptr) *told = (yes ? what : std::string("not ") + what) + ": drew " + short_text(drawn);
  return yes;
}

void StepDraw::operator()(const step::RandomResizedCrop& crop) {
  const Size before = placement.output();
  const Region region = draw_resized_crop(crop, before, random);
  if (told != nullptr) *told = "drew " + text(region) + " of " + text(before);
  placement.crop(region);
  placement.resize({crop.width, crop.height}, crop.interpolation);
}

void StepDraw::operator()(const step::Resize& resize) {
  const Size before = placement.output(), after = resized_size(resize, before);
  if (told != nullptr) *told = text(before) + " to " + text(after);
  placement.resize(after, resize.interpolation);
}

void StepDraw::operator()(const step::CenterCrop& crop) {
  const Size before = placement.output();
  const Region region = center_crop_region(crop, before);
  if (told != nullptr) *told = text(region) + " of " + text(before);
  placement.crop(region);
}

void StepDraw::operator()(const step::RandomCrop& crop) {
  const Padding padding = padding_of(crop, placement.output());
  if (padding != Padding{}) placement.pad(padding, crop.mode, fill_of(crop.fill));
  const Size padded = placement.output();
  if (crop.width > padded.width || crop.height > padded.height) {
    throw Error::shape("image.random_crop() of " + text(Size{crop.width, crop.height}) + " does not fit an image of " +
                       text(padded) + " pixels; pad_if_needed would make it fit");
  }
  const auto place = [this](std::int64_t room) {
    return room == 0 ? 0 : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(room + 1)));
  };
  const std::int64_t top = place(padded.height - crop.height), left = place(padded.width - crop.width);
  const Region region{left, top, crop.width, crop.height};
  if (told != nullptr)
    *told = "drew " + text(region) + " of " + text(padded) + (padding != Padding{} ? ", padded" : "");
  placement.crop(region);
}

void StepDraw::operator()(const step::PadImage& pad) {
  if (told != nullptr) *told = text(placement.output()) + " by " + text(pad.padding);
  if (pad.padding != Padding{}) placement.pad(pad.padding, pad.mode, fill_of(pad.fill));
}

void StepDraw::operator()(const step::RandomFlip& flip) {
  if (happens(flip.probability, "flipped")) placement.flip();
}

void StepDraw::operator()(const step::RandomVerticalFlip& flip) {
  if (happens(flip.probability, "flipped")) placement.flip_vertically();
}

void StepDraw::operator()(const step::RandomRotation& rotated) {
  const double angle = random.uniform(rotated.degrees.low, rotated.degrees.high);
  if (told != nullptr) *told = "drew " + short_text(angle) + " degrees";
  placement.warp(rotation(angle, placement.output()), rotated.interpolation, fill_of(rotated.fill));
}

void StepDraw::operator()(const step::RandomAffine& affine) {
  const Size size = placement.output();
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  const auto shift = [this](double most) { return std::nearbyint(random.uniform(-most, most)); };
  AffineDraw draw;
  draw.degrees = random.uniform(affine.degrees.low, affine.degrees.high);
  draw.translate_x = shift(affine.translate_x * width);
  draw.translate_y = shift(affine.translate_y * height);
  draw.scale = random.uniform(affine.scale.low, affine.scale.high);
  draw.shear_x = random.uniform(affine.shear_x.low, affine.shear_x.high);
  draw.shear_y = random.uniform(affine.shear_y.low, affine.shear_y.high);
  if (told != nullptr) {
    *told = "drew " + short_text(draw.degrees) + " degrees, shift " + short_text(draw.translate_x) + ", " +
            short_text(draw.translate_y) + ", scale " + short_text(draw.scale) + ", shear " + short_text(draw.shear_x) +
            ", " + short_text(draw.shear_y);
  }
  placement.warp(inverse_affine(draw, width * 0.5, height * 0.5), affine.interpolation, fill_of(affine.fill));
}

void StepDraw::operator()(const step::ColorJitter& jitter) {
  if (jitter.probability < 1 && !happens(jitter.probability, "jittered")) return;
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  const std::array<std::pair<Range, double>, 4> ranges{
      {{jitter.brightness, 1}, {jitter.contrast, 1}, {jitter.saturation, 1}, {jitter.hue, 0}}};
  std::array<std::optional<double>, 4> factors;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& [range, neutral] = ranges[i];
    if (range != Range{neutral, neutral}) factors[i] = random.uniform(range.low, range.high);
  }
  std::string list;
  for (const std::size_t i : order) {
    if (!factors[i]) continue;
    const auto kind = static_cast<ColorKind>(i);
    placement.color({kind, *factors[i]});
    if (told != nullptr) list += (list.empty() ? "" : ", ") + std::string(name(kind)) + " " + short_text(*factors[i]);
  }
  if (told != nullptr) *told = list.empty() ? "nothing to change" : list;
}

void StepDraw::operator()(const step::Grayscale& gray) {
  if (told != nullptr) *told = gray.channels == 1 ? "to 1 channel" : "to 3 equal channels";
  placement.color({ColorKind::grayscale, static_cast<double>(gray.channels)});
}

void StepDraw::operator()(const step::RandomColor& color) {
  if (happens(color.probability, "changed")) placement.color({color.kind, color.amount});
}

void StepDraw::operator()(const step::GaussianBlur& blur) {
  if (blur.probability < 1 && !happens(blur.probability, "blurred")) return;
  const double sigma = random.uniform(blur.sigma.low, blur.sigma.high);
  if (told != nullptr) *told = "drew sigma " + short_text(sigma);
  placement.color({ColorKind::blur, sigma, static_cast<std::int32_t>(blur.kernel_width),
                   static_cast<std::int32_t>(blur.kernel_height)});
}

void StepDraw::operator()(const step::RandAugment& augmented) {
  for (std::int64_t i = 0; i < augmented.num_ops; ++i) {
    const auto operation = static_cast<std::int64_t>(random.below(kAugmentations));
    augment(placement,
            {.space = AugmentSpace::rand,
             .operation = operation,
             .bin = augmented.magnitude,
             .bins = augmented.bins,
             .interpolation = augmented.interpolation,
             .fill = fill_of(augmented.fill)},
            random, told);
  }
}

void StepDraw::operator()(const step::TrivialAugment& augmented) {
  const auto operation = static_cast<std::int64_t>(random.below(kAugmentations));
  std::int64_t bin = 0;
  if (has_magnitude(operation))
    bin = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(augmented.bins)));
  augment(placement,
          {.space = AugmentSpace::trivial_wide,
           .operation = operation,
           .bin = bin,
           .bins = augmented.bins,
           .interpolation = augmented.interpolation,
           .fill = fill_of(augmented.fill)},
          random, told);
}

}  // namespace penstock
