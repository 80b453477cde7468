#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/geometry_steps.hpp>

namespace penstock {
namespace {

// To the nearest integer, halves to the even one, as Python's round().
std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

Region centered(Size size, std::int64_t width, std::int64_t height) {
  return {(size.width - width) / 2, (size.height - height) / 2, width, height};
}

std::string text(Size size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
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
    throw Error::shape("image.center_crop() of " + text({crop.width, crop.height}) + " does not fit an image of " +
                       text(size) + " pixels; image.resize() before it would make it fit");
  }
  return {rounded(static_cast<double>(size.width - crop.width) / 2.0),
          rounded(static_cast<double>(size.height - crop.height) / 2.0), crop.width, crop.height};
}

struct Draw {
  const Geometry& before;
  const SampleContext& sample;
  std::uint32_t transform;

  Random random() const { return {sample.seed, sample.epoch, sample.sample, transform}; }

  Geometry operator()(const step::RandomResizedCrop& crop) const {
    Random source = random();
    return before.cropped(draw_resized_crop(crop, before.output(), source)).resized({crop.width, crop.height});
  }
  Geometry operator()(const step::Resize& resize) const {
    return before.resized(resized_size(resize, before.output()));
  }
  Geometry operator()(const step::CenterCrop& crop) const {
    return before.cropped(center_crop_region(crop, before.output()));
  }
  Geometry operator()(const step::RandomFlip& flip) const {
    return random().uniform() < flip.probability ? before.flipped() : before;
  }
  template <typename Other>
  Geometry operator()(const Other&) const {
    return before;
  }
};

std::string text(const Region& region) {
  return text(Size{region.width, region.height}) + " at x " + std::to_string(region.x) + ", y " +
         std::to_string(region.y);
}

std::string text(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", value);
  return digits.data();
}

// In the pixels that the step before it left.
struct Outcome {
  const Draw& draw;

  std::string operator()(const step::RandomResizedCrop& crop) const {
    Random source = draw.random();
    const Size before = draw.before.output();
    return "drew " + text(draw_resized_crop(crop, before, source)) + " of " + text(before);
  }
  std::string operator()(const step::Resize& resize) const {
    return text(draw.before.output()) + " to " + text(resized_size(resize, draw.before.output()));
  }
  std::string operator()(const step::CenterCrop& crop) const {
    const Size before = draw.before.output();
    return text(center_crop_region(crop, before)) + " of " + text(before);
  }
  std::string operator()(const step::RandomFlip& flip) const {
    const double drawn = draw.random().uniform();
    return (drawn < flip.probability ? "flipped: drew " : "not flipped: drew ") + text(drawn);
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

}  // namespace

Region draw_resized_crop(const step::RandomResizedCrop& crop, Size size, Random& random) {
  const double area = static_cast<double>(size.width) * static_cast<double>(size.height);
  const double log_low = std::log(crop.ratio_min), log_high = std::log(crop.ratio_max);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(crop.scale_min, crop.scale_max);
    const double ratio = std::exp(random.uniform(log_low, log_high));
    const std::int64_t width = rounded(std::sqrt(target * ratio));
    const std::int64_t height = rounded(std::sqrt(target / ratio));
    if (width < 1 || width > size.width || height < 1 || height > size.height) continue;
    const std::uint64_t top = random.below(static_cast<std::uint64_t>(size.height - height + 1));
    const std::uint64_t left = random.below(static_cast<std::uint64_t>(size.width - width + 1));
    return {static_cast<std::int64_t>(left), static_cast<std::int64_t>(top), width, height};
  }
  const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
  std::int64_t width = size.width, height = size.height;
  if (ratio < crop.ratio_min) {
    height = std::clamp<std::int64_t>(rounded(static_cast<double>(width) / crop.ratio_min), 1, height);
  } else if (ratio > crop.ratio_max) {
    width = std::clamp<std::int64_t>(rounded(static_cast<double>(height) * crop.ratio_max), 1, width);
  }
  return centered(size, width, height);
}

bool GeometrySteps::is_geometric(const Step& step) {
  return std::holds_alternative<step::RandomResizedCrop>(step) || std::holds_alternative<step::Resize>(step) ||
         std::holds_alternative<step::CenterCrop>(step) || std::holds_alternative<step::RandomFlip>(step);
}

void GeometrySteps::add(Step step, std::uint32_t transform) {
  steps_.push_back({std::move(step), transform});
}

std::optional<Size> GeometrySteps::fixed_size() const {
  std::optional<Size> size;
  for (const Numbered& numbered : steps_) {
    if (const auto* random_crop = std::get_if<step::RandomResizedCrop>(&numbered.step)) {
      size = Size{random_crop->width, random_crop->height};
    } else if (const auto* crop = std::get_if<step::CenterCrop>(&numbered.step)) {
      size = Size{crop->width, crop->height};
    } else if (const auto* resize = std::get_if<step::Resize>(&numbered.step)) {
      if (resize->short_side == 0 || size) size = resized_size(*resize, size.value_or(Size{1, 1}));
    }
  }
  return size;
}

Geometry GeometrySteps::draw(Size source, const SampleContext& sample) const {
  Geometry geometry = Geometry::identity(source);
  for (const Numbered& numbered : steps_) {
    geometry = std::visit(Draw{geometry, sample, numbered.transform}, numbered.step);
  }
  return geometry;
}

Outcomes GeometrySteps::explain(Size source, const SampleContext& sample) const {
  Outcomes told{.steps = {}, .geometry = Geometry::identity(source)};
  for (const Numbered& numbered : steps_) {
    const Geometry before = *told.geometry;
    const Draw draw{before, sample, numbered.transform};
    told.steps.push_back({to_string(numbered.step), std::visit(Outcome{draw}, numbered.step)});
    told.geometry = std::visit(draw, numbered.step);
  }
  return told;
}

}  // namespace penstock
