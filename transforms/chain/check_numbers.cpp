#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/check_numbers.hpp>
#include <penstock/transforms/chain/step_tables.hpp>
#include <penstock/transforms/clouds/samplers/sampler.hpp>

namespace penstock {
namespace {

constexpr std::int64_t kMostPadding = 1 << 16;  // pixels at one side
constexpr std::int64_t kMostKernel = 1023;
constexpr std::int64_t kMostClasses = 1 << 24;
constexpr std::int64_t kMostSampled = std::int64_t{1} << 31;
constexpr std::int64_t kFewestColumns = 3, kMostColumns = 1024;

bool within(double low, double value, double high) {
  return value >= low && value <= high;  // false for NaN
}

bool within(double low, const Range& range, double high) {
  return within(low, range.low, range.high) && range.high <= high;
}

std::string plain_number(double number) {
  std::string digits = std::to_string(number);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

// "from 0 to 1", "of at least 1"
template <typename Kind, typename Value>
std::string allowed_range(const Parameter<Kind, Value>& parameter) {
  const std::string least = plain_number(static_cast<double>(parameter.least));
  if (parameter.least == std::numeric_limits<Value>::lowest()) return "that is finite";
  if (parameter.most >= std::numeric_limits<Value>::max()) return "of at least " + least;
  return "from " + least + " to " + plain_number(static_cast<double>(parameter.most));
}

struct CheckNumbers {
  template <HasTable Kind>
  void operator()(const Kind& step) const {
    for_each_parameter<Kind>([&](const auto& parameter) {
      const auto value = step.*parameter.member;
      require(value >= parameter.least && value <= parameter.most,  // false for NaN
              std::string(StepTable<Kind>::kName) + "() needs " + std::string(parameter.name) + " " +
                  allowed_range(parameter));
    });
    if constexpr (std::is_same_v<Kind, step::RandomScale>)
      require(step.low <= step.high, "points.random_scale() needs low <= high");
  }
  void operator()(const step::CloudDecode& decode) const {
    require(decode.columns == 0 || (decode.columns >= kFewestColumns && decode.columns <= kMostColumns),
            "points.decode() needs columns from 3 to 1024");
  }
  void operator()(const step::Sample& sample) const {
    const SampleMethod method = sample.options.method;
    const bool finds_number = method == SampleMethod::voxel || method == SampleMethod::poisson;
    require(sample.options.points >= (finds_number ? 0 : 1), "points.sample() needs at least 1 point");
    require(sample.options.points <= kMostSampled, "points.sample() takes 2,147,483,648 points at most");
    require(sample.blocks >= 0, "points.sample() needs blocks of at least 1");
    if (method != SampleMethod::blocks) make_sampler(sample.options);
  }
  void operator()(const step::RandomResizedCrop& crop) const {
    require(crop.width > 0 && crop.height > 0, "image.random_resized_crop() needs a size of at least 1 pixel");
    require(crop.scale_min > 0 && crop.scale_min <= crop.scale_max && crop.scale_max <= 1,
            "image.random_resized_crop() needs 0 < scale[0] <= scale[1] <= 1");
    require(crop.ratio_min > 0 && crop.ratio_min <= crop.ratio_max && crop.ratio_max <= 1000,
            "image.random_resized_crop() needs 0 < ratio[0] <= ratio[1] <= 1000");
  }
  void operator()(const step::Resize& resize) const {
    require(resize.short_side > 0 || (resize.width > 0 && resize.height > 0),
            "image.resize() needs a size of at least 1 pixel");
  }
  void operator()(const step::CenterCrop& crop) const {
    require(crop.width > 0 && crop.height > 0, "image.center_crop() needs a size of at least 1 pixel");
  }
  void operator()(const step::RandomCrop& crop) const {
    require(crop.width > 0 && crop.height > 0, "image.random_crop() needs a size of at least 1 pixel");
    check("random_crop", crop.padding);
    check("random_crop", crop.fill);
  }
  void operator()(const step::PadImage& pad) const {
    check("pad", pad.padding);
    check("pad", pad.fill);
  }
  void operator()(const step::RandomRotation& rotation) const {
    check_angle("random_rotation", rotation.degrees);
    check("random_rotation", rotation.fill);
  }
  void operator()(const step::RandomAffine& affine) const {
    check_angle("random_affine", affine.degrees);
    require(within(0, affine.translate_x, 1) && within(0, affine.translate_y, 1),
            "image.random_affine() needs translate from 0 to 1");
    require(within(0.001, affine.scale, 1000), "image.random_affine() needs 0.001 <= scale[0] <= scale[1] <= 1000");
    require(within(-89, affine.shear_x, 89) && within(-89, affine.shear_y, 89),
            "image.random_affine() needs shear from -89 to 89 degrees, the lower one first");
    check("random_affine", affine.fill);
  }
  void operator()(const step::ColorJitter& jitter) const {
    for (const Range& factor : {jitter.brightness, jitter.contrast, jitter.saturation}) {
      require(within(0, factor, 1e6), "image.color_jitter() needs factors from 0 on, the lower one first");
    }
    require(within(-0.5, jitter.hue, 0.5), "image.color_jitter() needs hue from -0.5 to 0.5, the lower one first");
    check("color_jitter", jitter.probability);
  }
  void operator()(const step::Grayscale& gray) const {
    require(gray.channels == 1 || gray.channels == 3, "image.grayscale() gives 1 or 3 channels");
  }
  void operator()(const step::RandomColor& color) const {
    const std::string step = "random_" + std::string(name(color.kind));
    check(step.c_str(), color.probability);
    if (color.kind == ColorKind::posterize)
      require(within(0, color.amount, 8), "image.random_posterize() keeps 0 to 8 bits");
    if (color.kind == ColorKind::solarize)
      require(std::isfinite(color.amount), "image.random_solarize() needs a finite threshold");
    if (color.kind == ColorKind::sharpness)
      require(within(0, color.amount, 1e6), "image.random_sharpness() needs a factor from 0 on");
  }
  void operator()(const step::GaussianBlur& blur) const {
    for (const std::int64_t side : {blur.kernel_width, blur.kernel_height}) {
      require(side > 0 && side % 2 == 1 && side <= kMostKernel,
              "image.gaussian_blur() needs an odd kernel from 1 to " + std::to_string(kMostKernel));
    }
    require(within(1e-3, blur.sigma, 1e6), "image.gaussian_blur() needs 0.001 <= sigma[0] <= sigma[1]");
    check("gaussian_blur", blur.probability);
  }
  void operator()(const step::RandAugment& augment) const {
    require(augment.num_ops >= 0 && augment.num_ops <= 100, "image.rand_augment() needs num_ops from 0 to 100");
    require(augment.bins >= 2 && augment.bins <= 10000, "image.rand_augment() needs bins from 2 to 10000");
    require(augment.magnitude >= 0 && augment.magnitude < augment.bins,
            "image.rand_augment() needs a magnitude from 0 to bins - 1");
    check("rand_augment", augment.fill);
  }
  void operator()(const step::TrivialAugment& augment) const {
    require(augment.bins >= 2 && augment.bins <= 10000, "image.trivial_augment() needs bins from 2 to 10000");
    check("trivial_augment", augment.fill);
  }
  void operator()(const step::RandomErasing& erasing) const {
    check("random_erasing", erasing.probability);
    require(within(0, erasing.scale, 1), "image.random_erasing() needs 0 <= scale[0] <= scale[1] <= 1");
    require(erasing.ratio.low > 0 && within(0, erasing.ratio, 1000),
            "image.random_erasing() needs 0 < ratio[0] <= ratio[1] <= 1000");
    require(std::ranges::all_of(erasing.value, [](double value) { return std::isfinite(value); }),
            "image.random_erasing() needs finite values");
  }
  void operator()(const step::Normalize& normalize) const {
    require(
        normalize.mean.size() == normalize.stddev.size() && (normalize.mean.size() == 1 || normalize.mean.size() == 3),
        "image.normalize() needs as many means as deviations: 3, or 1 for gray images");
    require(std::ranges::all_of(normalize.stddev, [](float deviation) { return deviation > 0; }),
            "image.normalize() needs deviations above 0");
  }
  void operator()(const step::Label& label) const {
    require(label.classes >= 0, "label() needs a number of classes above 0");
    require(label.classes <= kMostClasses, "label() takes at most " + std::to_string(kMostClasses) + " classes");
  }
  void operator()(const step::Window& window) const {
    require(window.rows > 0, "array.random_window() needs at least 1 row");
  }
  template <typename Other>
  requires(!HasTable<Other>) void operator()(const Other&) const {}

 private:
  static void require(bool fits, const std::string& cause) {
    if (!fits) throw Error::invalid_argument(cause);
  }
  static void check(const char* step, double probability) {
    require(within(0, probability, 1), std::string("image.") + step + "() needs a probability from 0 to 1");
  }
  static void check(const char* step, const Padding& padding) {
    for (const std::int64_t side : {padding.left, padding.top, padding.right, padding.bottom}) {
      require(side >= 0 && side <= kMostPadding,
              std::string("image.") + step + "() needs padding from 0 to " + std::to_string(kMostPadding));
    }
  }
  static void check(const char* step, const Fill& fill) {
    const bool bytes = std::ranges::all_of(fill, [](std::int64_t value) { return value >= 0 && value <= 255; });
    require(bytes && (fill.size() == 1 || fill.size() == 3),
            std::string("image.") + step + "() needs a fill from 0 to 255: one number, or one for each of 3 channels");
  }
  static void check_angle(const char* step, const Range& degrees) {
    require(within(-1e6, degrees, 1e6), std::string("image.") + step + "() needs degrees, the lower ones first");
  }
};

}  // namespace

void check_numbers(const Step& step) {
  std::visit(CheckNumbers{}, step);
}

Chain one_step(Step step) {
  check_numbers(step);
  Chain chain;
  chain.steps.push_back(std::move(step));
  return chain;
}

}  // namespace penstock
