#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>

#include "bind_chain.hpp"
#include "bind_step.hpp"

namespace penstock::python {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;
using Four = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using Size = std::variant<std::int64_t, Pair>;
using Sides = std::variant<std::int64_t, Pair, Four>;
using Colors = std::variant<std::int64_t, std::tuple<std::int64_t, std::int64_t, std::int64_t>>;
using Interval = std::pair<double, double>;
using Reach = std::variant<double, Interval>;
using Shear = std::variant<double, Interval, std::tuple<double, double, double, double>>;
using Value = std::variant<double, std::tuple<double, double, double>, std::string>;

Pair height_and_width(const Size& size) {
  if (const auto* side = std::get_if<std::int64_t>(&size)) return {*side, *side};
  return std::get<Pair>(size);
}

Padding padding_of(const std::optional<Sides>& sides) {
  if (!sides) return {};
  if (const auto* all = std::get_if<std::int64_t>(&*sides)) return Padding::all(*all);
  if (const auto* pair = std::get_if<Pair>(&*sides)) return {pair->first, pair->second, pair->first, pair->second};
  const auto& [left, top, right, bottom] = std::get<Four>(*sides);
  return {left, top, right, bottom};
}

Fill fill_in(const Colors& fill) {
  if (const auto* all = std::get_if<std::int64_t>(&fill)) return {*all};
  const auto& [red, green, blue] = std::get<1>(fill);
  return {red, green, blue};
}

Range range_of(const Interval& interval) {
  return {interval.first, interval.second};
}

// A number x stands for -x to x.
Range about_zero(const Reach& reach) {
  if (const auto* most = std::get_if<double>(&reach)) return {-*most, *most};
  return range_of(std::get<Interval>(reach));
}

// A number x stands for 1 - x to 1 + x.
Range about_one(const char* what, const Reach& reach) {
  if (const auto* most = std::get_if<double>(&reach)) {
    if (!(*most >= 0)) throw Error::invalid_argument(std::string("image.color_jitter(): ") + what + " is negative");
    return {std::max(0.0, 1 - *most), 1 + *most};
  }
  return range_of(std::get<Interval>(reach));
}

Chain random_resized_crop(const Size& size, const Interval& scale, const Interval& ratio,
                          const std::string& interpolation) {
  const auto [height, width] = height_and_width(size);
  return image::random_resized_crop(height, width, scale, ratio, interpolation);
}

Chain resize(const Size& size, const std::string& interpolation) {
  if (const auto* short_side = std::get_if<std::int64_t>(&size)) return image::resize(*short_side, interpolation);
  const auto& [height, width] = std::get<Pair>(size);
  return image::resize(height, width, interpolation);
}

Chain random_crop(const Size& size, const std::optional<Sides>& padding, bool pad_if_needed, const Colors& fill,
                  const std::string& padding_mode) {
  const auto [height, width] = height_and_width(size);
  return image::random_crop(height, width,
                            {.padding = padding_of(padding),
                             .pad_if_needed = pad_if_needed,
                             .fill = fill_in(fill),
                             .padding_mode = padding_mode});
}

Chain pad(const Sides& padding, const Colors& fill, const std::string& padding_mode) {
  return image::pad(padding_of(padding), {.fill = fill_in(fill), .padding_mode = padding_mode});
}

Chain random_rotation(const Reach& degrees, const std::string& interpolation, const Colors& fill) {
  return image::random_rotation(about_zero(degrees), interpolation, fill_in(fill));
}

Chain random_affine(const Reach& degrees, const std::optional<Interval>& translate,
                    const std::optional<Interval>& scale, const std::optional<Shear>& shear,
                    const std::string& interpolation, const Colors& fill) {
  image::AffineKeywords keywords{.interpolation = interpolation, .fill = fill_in(fill)};
  if (translate) std::tie(keywords.translate_x, keywords.translate_y) = *translate;
  if (scale) keywords.scale = range_of(*scale);
  if (shear) {
    if (const auto* most = std::get_if<double>(&*shear)) {
      keywords.shear_x = {-*most, *most};
    } else if (const auto* range = std::get_if<Interval>(&*shear)) {
      keywords.shear_x = range_of(*range);
    } else {
      const auto& [x_low, x_high, y_low, y_high] = std::get<2>(*shear);
      keywords.shear_x = {x_low, x_high};
      keywords.shear_y = {y_low, y_high};
    }
  }
  return image::random_affine(about_zero(degrees), keywords);
}

Chain color_jitter(const Reach& brightness, const Reach& contrast, const Reach& saturation, const Reach& hue,
                   double probability) {
  return image::color_jitter({.brightness = about_one("brightness", brightness),
                              .contrast = about_one("contrast", contrast),
                              .saturation = about_one("saturation", saturation),
                              .hue = about_zero(hue),
                              .probability = probability});
}

Chain gaussian_blur(const Size& kernel, const Reach& sigma, double probability) {
  const auto [height, width] = height_and_width(kernel);
  const auto* fixed = std::get_if<double>(&sigma);
  const Range range = fixed != nullptr ? Range{*fixed, *fixed} : range_of(std::get<Interval>(sigma));
  return image::gaussian_blur(height, width, range, probability);
}

Chain rand_augment(std::int64_t num_ops, std::int64_t magnitude, std::int64_t bins, const std::string& interpolation,
                   const Colors& fill) {
  return image::rand_augment(num_ops, magnitude, bins, interpolation, fill_in(fill));
}

Chain trivial_augment(std::int64_t bins, const std::string& interpolation, const Colors& fill) {
  return image::trivial_augment(bins, interpolation, fill_in(fill));
}

Chain random_erasing(double probability, const Interval& scale, const Interval& ratio, const Value& value) {
  image::ErasingKeywords keywords{.probability = probability, .scale = range_of(scale), .ratio = range_of(ratio)};
  if (const auto* number = std::get_if<double>(&value)) {
    keywords.value = {*number};
  } else if (const auto* colors = std::get_if<1>(&value)) {
    const auto& [red, green, blue] = *colors;
    keywords.value = {red, green, blue};
  } else if (std::get<std::string>(value) == "random") {
    keywords.value = {};
  } else {
    throw Error::invalid_argument("image.random_erasing(): value is a number, three, or \"random\"");
  }
  return image::random_erasing(keywords);
}

void bind_places(nb::module_& module) {
  module.def("random_resized_crop", random_resized_crop, nb::arg("size"), nb::kw_only(),
             nb::arg("scale") = std::pair(0.08, 1.0), nb::arg("ratio") = std::pair(3.0 / 4.0, 4.0 / 3.0),
             nb::arg("interpolation") = "bilinear",
             "A random box of `scale` of the area and `ratio` (width / height, log-uniform), resampled to `size`:\n"
             "int for a square, or (height, width). uint8 (C, H, W), as torchvision's RandomResizedCrop.\n"
             "interpolation: \"nearest\", \"area\", \"bilinear\" or \"bicubic\", antialiased as Pillow does it.");
  module.def(
      "resize", resize, nb::arg("size"), nb::kw_only(), nb::arg("interpolation") = "bilinear",
      "int: the short side, keeping the aspect ratio; (height, width): exactly that. interpolation: \"nearest\",\n"
      "\"area\", \"bilinear\" or \"bicubic\", antialiased as Pillow does it.");
  module.def("center_crop", image::center_crop, nb::arg("size"), "The square of that many pixels in the middle.");
  module.def("random_crop", random_crop, nb::arg("size"), nb::arg("padding") = nb::none(), nb::kw_only(),
             nb::arg("pad_if_needed") = false, nb::arg("fill") = 0, nb::arg("padding_mode") = "constant",
             "A crop of `size` (int for a square, or (height, width)) at a random place, as torchvision's RandomCrop,\n"
             "after padding by int, (left and right, top and bottom) or (left, top, right, bottom). padding_mode:\n"
             "\"constant\" (with `fill`, 0 to 255 or three of them), \"edge\", \"reflect\" or \"symmetric\".");
  module.def("pad", pad, nb::arg("padding"), nb::kw_only(), nb::arg("fill") = 0, nb::arg("padding_mode") = "constant",
             "As torchvision's Pad; the arguments are those of random_crop().");
  bind_step<step::RandomFlip>(module);
  bind_step<step::RandomVerticalFlip>(module);
  module.def(
      "random_rotation", random_rotation, nb::arg("degrees"), nb::kw_only(), nb::arg("interpolation") = "nearest",
      nb::arg("fill") = 0,
      "By a uniform angle of (low, high), or of (-degrees, degrees), counterclockwise about the middle; the size\n"
      "stays. interpolation: \"nearest\", \"bilinear\" or \"bicubic\". As torchvision's RandomRotation.");
  module.def("random_affine", random_affine, nb::arg("degrees"), nb::kw_only(), nb::arg("translate") = nb::none(),
             nb::arg("scale") = nb::none(), nb::arg("shear") = nb::none(), nb::arg("interpolation") = "nearest",
             nb::arg("fill") = 0,
             "Rotation (clockwise), shift by up to (x, y) of the size, scale of (low, high), and shear in degrees:\n"
             "x, (low, high), or (x low, x high, y low, y high). As torchvision's RandomAffine.");
}

void bind_colors(nb::module_& module) {
  module.def("color_jitter", color_jitter, nb::arg("brightness") = 0.0, nb::arg("contrast") = 0.0,
             nb::arg("saturation") = 0.0, nb::arg("hue") = 0.0, nb::kw_only(), nb::arg("probability") = 1.0,
             "As torchvision's ColorJitter, in a random order: x stands for factors from max(0, 1 - x) to 1 + x, for\n"
             "hue from -x to x; (low, high) for just those. probability: of doing it at all (RandomApply).");
  module.def("grayscale", image::grayscale, nb::arg("channels") = 1, "To 1 channel, or 3 equal ones.");
  module.def("random_grayscale", image::random_grayscale, nb::arg("probability") = 0.1,
             "To equal channels, as many as there are.");
  module.def("random_invert", image::random_invert, nb::arg("probability") = 0.5, "255 - pixel.");
  module.def("random_posterize", image::random_posterize, nb::arg("bits"), nb::arg("probability") = 0.5,
             "Keeps the upper bits of each channel.");
  module.def("random_solarize", image::random_solarize, nb::arg("threshold"), nb::arg("probability") = 0.5,
             "Inverts what is not below the threshold.");
  module.def("random_sharpness", image::random_sharpness, nb::arg("factor"), nb::arg("probability") = 0.5,
             "0 blurs, 1 leaves alone, 2 sharpens; as torchvision's RandomAdjustSharpness.");
  module.def("random_autocontrast", image::random_autocontrast, nb::arg("probability") = 0.5,
             "Stretches each channel to 0..255.");
  module.def("random_equalize", image::random_equalize, nb::arg("probability") = 0.5,
             "Makes each channel's histogram flat.");
  module.def("gaussian_blur", gaussian_blur, nb::arg("kernel"), nb::arg("sigma") = std::pair(0.1, 2.0), nb::kw_only(),
             nb::arg("probability") = 1.0,
             "kernel: odd, int or (height, width) in pixels; sigma: a number, or (low, high) to draw it from. As\n"
             "torchvision's GaussianBlur.");
  module.def("rand_augment", rand_augment, nb::arg("num_ops") = 2, nb::arg("magnitude") = 9, nb::arg("bins") = 31,
             nb::kw_only(), nb::arg("interpolation") = "nearest", nb::arg("fill") = 0,
             "As torchvision's RandAugment: num_ops of 14 operations, at magnitude `magnitude` of `bins`.");
  module.def("trivial_augment", trivial_augment, nb::arg("bins") = 31, nb::kw_only(),
             nb::arg("interpolation") = "nearest", nb::arg("fill") = 0,
             "As torchvision's TrivialAugmentWide: one of 14 operations at a random magnitude.");
}

}  // namespace

void bind_image_chain(nb::module_ module) {
  module.doc() =
      "Chains for images (JPEG, PNG, uint8 arrays). The layout of what they give is (C, H, W). Whatever is drawn is a\n"
      "function of seed, epoch and sample.";
  module.def(
      "decode", image::decode, nb::kw_only(), nb::arg("fast") = false, nb::arg("apply_exif_orientation") = false,
      "Decoded pixels: uint8 (C, H, W). fast: JPEGs that the chain makes at least twice smaller are decoded at 1/2,\n"
      "1/4 or 1/8 of their size, which is sooner done and gives slightly other pixels. apply_exif_orientation: images\n"
      "are turned and mirrored as their EXIF block says, before all other steps.");
  bind_places(module);
  bind_colors(module);
  module.def("normalize", image::normalize, nb::arg("mean"), nb::arg("stddev"),
             "out[c,y,x] = (in[y,x,c] / 255 - mean[c]) / stddev[c]: float32 (C, H, W), as torchvision's ToTensor and\n"
             "Normalize. The loader raises Error: shape, unless both have as many entries as the image has channels.");
  module.def(
      "cast", [](const std::string& dtype) { return image::cast(dtype_of(dtype)); }, nb::arg("dtype"),
      "\"float32\", \"float16\", \"bfloat16\" or \"uint8\"; masks that follow an image take any dtype.");
  bind_step<step::ChannelsLast>(module);
  module.def(
      "random_erasing", random_erasing, nb::arg("probability") = 0.5, nb::kw_only(),
      nb::arg("scale") = std::pair(0.02, 0.33), nb::arg("ratio") = std::pair(0.3, 3.3), nb::arg("value") = 0.0,
      "Overwrites a random box of `scale` of the area and `ratio` (height / width, log-uniform), after\n"
      "normalize() and in its units, by a number, one for each channel, or \"random\" (normally distributed). As\n"
      "torchvision's RandomErasing.");
}

}  // namespace penstock::python
