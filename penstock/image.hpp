// The transforms of images: decode, crop, resize, flip, color, numbers.
//
//   namespace image = penstock::image;
//   const penstock::Chain evaluation = image::resize(256) | image::center_crop(224);
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <penstock/geometry.hpp>
#include <penstock/step.hpp>

namespace penstock::step {
struct Decode {
  bool fast = false;     ///< JPEGs may be decoded at a fraction of their size
  bool upright = false;  ///< rotated as the EXIF block says
  bool ragged = false;   ///< rows have sizes of their own
  static const StepTable& table();
  static constexpr Traits kTraits{
      .domain = Domain::image, .draws = false, .before_device = true, .leaves_places = true};
};
}  // namespace penstock::step

namespace penstock::image {
/// Decodes an image to uint8 pixels. The default layout of image outputs is (C, H, W); see channels_last(). A chain
/// without decode() decodes with these defaults.
///
/// - `fast`: a JPEG that the chain shrinks at least to half is decoded at 1/2, 1/4 or 1/8 of its size, and resampled
///   from there. Pixels differ from those without it; docs/transforms.md gives the amount.
/// - `apply_exif_orientation`: rotates and mirrors an image as its EXIF block says, before all other steps, like
///   Pillow's ImageOps.exif_transpose.
/// - `ragged`: each image keeps its size, and the batch has an array for each row (Field::shapes). Masks that follow
///   the image keep their sizes too.
inline Chain decode(bool fast = false, bool apply_exif_orientation = false, bool ragged = false) {
  return one_step(step::Decode{.fast = fast, .upright = apply_exif_orientation, .ragged = ragged});
}
}  // namespace penstock::image

namespace penstock::step {
struct RandomResizedCrop {
  Size size;
  Range scale{0.08, 1.0};             ///< share of the area
  Range ratio{3.0 / 4.0, 4.0 / 3.0};  ///< width / height, log-uniform
  Interpolation interpolation = Interpolation::bilinear;
  static const StepTable& table();
  static constexpr Traits kTraits{.before_device = true};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size>) const { return size; }
  /// The box in an image of size `image`: draw_box(), or otherwise the largest central box with an allowed ratio.
  /// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomResizedCrop.make_params.
  Region box(Size image, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// Crops a random box with `scale` of the area and `ratio` (width / height, log-uniform), and resamples it to size x
/// size, antialiased. interpolation: "nearest", "area", "bilinear" or "bicubic". Source:
/// torchvision.transforms.v2.RandomResizedCrop.
Chain random_resized_crop(std::int64_t size, std::pair<double, double> scale = {0.08, 1.0},
                          std::pair<double, double> ratio = {3.0 / 4.0, 4.0 / 3.0},
                          const std::string& interpolation = "bilinear");
/// The same, resampled to `height` x `width`.
Chain random_resized_crop(std::int64_t height, std::int64_t width, std::pair<double, double> scale,
                          std::pair<double, double> ratio, const std::string& interpolation = "bilinear");
}  // namespace penstock::image

namespace penstock::step {
struct Resize {
  Size size;  ///< if width is kShortSide, `height` is the short side, and the image determines the other one
  Interpolation interpolation = Interpolation::bilinear;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .before_device = true};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size> before) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// Resamples, antialiased, to a short side of `short_side` pixels. Keeps the aspect ratio; the long side is truncated
/// to a whole pixel. interpolation: "nearest", "area", "bilinear" or "bicubic". Source:
/// torchvision.transforms.v2.Resize; the pixels are those of Pillow, Resample.c.
Chain resize(std::int64_t short_side, const std::string& interpolation = "bilinear");
/// Resamples to exactly that size. The aspect ratio may change.
Chain resize(std::int64_t height, std::int64_t width, const std::string& interpolation = "bilinear");
}  // namespace penstock::image

namespace penstock::step {
struct CenterCrop {
  Size size;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .before_device = true};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size>) const { return size; }
  bool moves_only() const { return true; }
};
}  // namespace penstock::step

namespace penstock::image {
/// Crops the middle `size` x `size` pixels, with offsets rounded half to even. A smaller image is an Error: shape.
/// Source: torchvision.transforms.v2.CenterCrop.
inline Chain center_crop(std::int64_t size) {
  return one_step(step::CenterCrop{.size = {size, size}});
}
}  // namespace penstock::image

namespace penstock::step {
struct RandomCrop {
  Size size;
  Padding padding;
  bool pad_if_needed = false;
  Fill fill = {0};
  PaddingMode padding_mode = PaddingMode::constant;
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< draws top and left, unless there is only one choice
  std::optional<Size> size_after(std::optional<Size>) const { return size; }
  bool moves_only() const { return padding == Padding{} && !pad_if_needed; }
};
}  // namespace penstock::step

namespace penstock::image {
/// The options of random_crop().
struct CropKeywords {
  Padding padding = {};                   ///< added before the crop
  bool pad_if_needed = false;             ///< otherwise an image smaller than the crop is an Error: shape
  Fill fill = {0};                        ///< for "constant"
  std::string padding_mode = "constant";  ///< or "edge", "reflect", "symmetric": see PaddingMode
};
/// Crops `size` x `size` pixels at a random place of the padded image. Source: torchvision.transforms.v2.RandomCrop.
Chain random_crop(std::int64_t size, const CropKeywords& keywords = {});
Chain random_crop(std::int64_t height, std::int64_t width, const CropKeywords& keywords = {});
}  // namespace penstock::image

namespace penstock::step {
struct PadImage {
  Padding padding;
  Fill fill = {0};
  PaddingMode padding_mode = PaddingMode::constant;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void draw(StepDraw& draw) const;
  std::optional<Size> size_after(std::optional<Size> before) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// The options of pad().
struct PadKeywords {
  Fill fill = {0};                        ///< for "constant"
  std::string padding_mode = "constant";  ///< or "edge", "reflect", "symmetric": see PaddingMode
};
/// Adds `padding` pixels at each side. Source: torchvision.transforms.v2.Pad.
Chain pad(const Padding& padding, const PadKeywords& keywords = {});
}  // namespace penstock::image

namespace penstock::step {
struct RandomHorizontalFlip {
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.before_device = true};
  void draw(StepDraw& draw) const;
  bool moves_only() const { return true; }
};
struct RandomVerticalFlip {
  double probability = 0.5;
  static const StepTable& table();
  void draw(StepDraw& draw) const;
  bool moves_only() const { return true; }
};
}  // namespace penstock::step

namespace penstock::image {
/// Exchanges left and right, with that probability. Source: torchvision.transforms.v2.RandomHorizontalFlip.
inline Chain random_horizontal_flip(double probability = 0.5) {
  return one_step(step::RandomHorizontalFlip{.probability = probability});
}
/// Exchanges top and bottom, with that probability. Source: torchvision.transforms.v2.RandomVerticalFlip.
inline Chain random_vertical_flip(double probability = 0.5) {
  return one_step(step::RandomVerticalFlip{.probability = probability});
}
}  // namespace penstock::image

namespace penstock::step {
struct RandomRotation {
  Range degrees;
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< draws the angle
};
}  // namespace penstock::step

namespace penstock::image {
/// Rotates by a uniform angle in `degrees`, counterclockwise around the middle. The size stays, and `fill` covers the
/// corners. interpolation: "nearest", "bilinear" or "bicubic". Source: torchvision.transforms.v2.RandomRotation.
Chain random_rotation(Range degrees, const std::string& interpolation = "nearest", Fill fill = {0});
}  // namespace penstock::image

namespace penstock::step {
struct RandomAffine {
  Range degrees;
  std::pair<double, double> translate{0, 0};  ///< maximum shift to either side, as a share of width and height
  Range scale{1, 1};
  std::array<Range, 2> shear{};  ///< along x and y, in degrees
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< draws angle, shifts x and y, scale, shears x and y
};
}  // namespace penstock::step

namespace penstock::image {
/// The options of random_affine().
struct AffineKeywords {
  double translate_x = 0, translate_y = 0;  ///< maximum shift to either side, as a share of width and height
  Range scale{1, 1};
  Range shear_x{0, 0}, shear_y{0, 0};     ///< degrees
  std::string interpolation = "nearest";  ///< or "bilinear", "bicubic"
  Fill fill = {0};                        ///< for pixels without a source
};
/// Rotates, shifts, scales and shears around the middle, by uniform numbers; clockwise, unlike random_rotation(). The
/// size stays. Source: torchvision.transforms.v2.RandomAffine.
Chain random_affine(Range degrees, const AffineKeywords& keywords = {});
}  // namespace penstock::image

namespace penstock::step {
struct ColorJitter {
  Range brightness{1, 1}, contrast{1, 1}, saturation{1, 1};  ///< factors; (1, 1), or (0, 0) for hue, means no change
  Range hue;
  double probability = 1;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  /// Draws: whether (unless always), the order (below 4, 3, 2), then one factor for each adjustment in use.
  void draw(StepDraw& draw) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// Ranges of factors, for hue of -0.5 to 0.5 turns, and the probability of any change.
using JitterKeywords = step::ColorJitter;
/// Changes brightness, contrast, saturation and hue of uint8 pixels, in a random order, by uniform numbers. Source:
/// torchvision.transforms.v2.ColorJitter. The arithmetic is Pillow's, equal to the last bit.
inline Chain color_jitter(const JitterKeywords& keywords) {
  return one_step(keywords);
}
/// Factors from max(0, 1 - x) to 1 + x; hue from -hue to hue. Throws Error: invalid_argument for negative numbers.
Chain color_jitter(double brightness, double contrast = 0, double saturation = 0, double hue = 0,
                   double probability = 1);
}  // namespace penstock::image

namespace penstock::step {
struct Grayscale {
  std::int64_t channels = 1;  ///< 1 or 3
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false, .leaves_places = true};
  void check() const;
  void draw(StepDraw& draw) const;
  std::int64_t channels_after(std::int64_t before) const { return channels == 1 ? 1 : before; }
};
struct RandomGrayscale {
  double probability = 0.1;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
struct RandomInvert {
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
struct RandomPosterize {
  std::int64_t bits;
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
struct RandomSolarize {
  double threshold;
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
struct RandomSharpness {
  double factor;
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
struct RandomAutocontrast {
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
struct RandomEqualize {
  double probability = 0.5;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void draw(StepDraw& draw) const;
};
}  // namespace penstock::step

namespace penstock::image {
// Each changes uint8 pixels, with that probability, by the arithmetic of Pillow: equal to the last bit. Source of the
// random ones: the functions of the same name in torchvision.transforms.v2; for random_sharpness():
// RandomAdjustSharpness.

/// Converts to luma: 1 channel, or 3 equal ones. Source: ITU-R 601-2, as Pillow's convert("L").
Chain grayscale(std::int64_t channels = 1);
/// Replaces every channel by luma; the number of channels stays.
Chain random_grayscale(double probability = 0.1);
/// Inverts pixels: 255 - pixel.
Chain random_invert(double probability = 0.5);
/// Keeps the upper `bits` of each pixel: 0 to 8.
Chain random_posterize(std::int64_t bits, double probability = 0.5);
/// Inverts pixels of at least `threshold`.
Chain random_solarize(double threshold, double probability = 0.5);
/// Changes the sharpness: a factor of 0 blurs, 1 changes nothing, 2 sharpens.
Chain random_sharpness(double factor, double probability = 0.5);
/// Stretches each channel to 0..255.
Chain random_autocontrast(double probability = 0.5);
/// Flattens the histogram of each channel.
Chain random_equalize(double probability = 0.5);
}  // namespace penstock::image

namespace penstock::step {
struct GaussianBlur {
  Size kernel_size;
  Range sigma{0.1, 2.0};
  double probability = 1;
  static const StepTable& table();
  static constexpr Traits kTraits{.leaves_places = true};
  void check() const;
  void draw(StepDraw& draw) const;  ///< draws: whether (unless always), standard deviation
};
}  // namespace penstock::step

namespace penstock::image {
/// Blurs with a kernel of `kernel_size` pixels, odd, 1023 at most; the image is mirrored at the edges. The standard
/// deviation is uniform in `sigma`, in pixels. Source: torchvision.transforms.v2.GaussianBlur.
Chain gaussian_blur(std::int64_t kernel_size, Range sigma = {0.1, 2.0}, double probability = 1);
inline Chain gaussian_blur(std::int64_t kernel_height, std::int64_t kernel_width, Range sigma, double probability = 1) {
  return one_step(step::GaussianBlur{
      .kernel_size = {.width = kernel_width, .height = kernel_height}, .sigma = sigma, .probability = probability});
}
}  // namespace penstock::image

namespace penstock::step {
struct RandAugment {
  std::int64_t num_ops = 2, magnitude = 9, bins = 31;
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void check() const;
  void draw(StepDraw& draw) const;  ///< draws for each operation: which one (below 14), and its sign
};
struct TrivialAugment {
  std::int64_t bins = 31;
  Interpolation interpolation = Interpolation::nearest;
  Fill fill = {0};
  static const StepTable& table();
  void draw(StepDraw& draw) const;  ///< draws which one, magnitude (below bins), sign: those that apply
};
}  // namespace penstock::step

namespace penstock::image {
/// Applies `num_ops` of 14 operations, drawn at random, at magnitude number `magnitude` of `bins`. Throws Error:
/// invalid_argument, unless 0 <= magnitude < bins. interpolation, for operations that move pixels: "nearest",
/// "bilinear" or "bicubic". `fill` is used for pixels without a source. Source: torchvision.transforms.v2.RandAugment.
Chain rand_augment(std::int64_t num_ops = 2, std::int64_t magnitude = 9, std::int64_t bins = 31,
                   const std::string& interpolation = "nearest", Fill fill = {0});
/// Applies one of 14 operations at a random one of `bins` magnitudes. interpolation and fill as for rand_augment().
/// Source: torchvision.transforms.v2.TrivialAugmentWide.
Chain trivial_augment(std::int64_t bins = 31, const std::string& interpolation = "nearest", Fill fill = {0});
}  // namespace penstock::image

namespace penstock::step {
struct Normalize {
  std::vector<float> mean, stddev;
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::image, .draws = false, .leaves_places = true, .scales = true};
  void check() const;
};
struct ChannelsLast {
  static const StepTable& table();
  static constexpr Traits kTraits{
      .domain = Domain::image, .draws = false, .leaves_places = true, .channels_last = true};
};
}  // namespace penstock::step

namespace penstock::image {
/// Converts pixels to float32 (C, H, W): out[c,y,x] = (in[y,x,c] / 255 - mean[c]) / std[c]; 65535 instead of 255 for 16
/// bits. One mean and one standard deviation per channel: 3, or 1, which keeps images gray. Throws Error:
/// invalid_argument, unless there are as many deviations as means, all above 0. Source: torchvision ToTensor, then
/// Normalize.
inline Chain normalize(std::vector<float> mean, std::vector<float> stddev) {
  return one_step(step::Normalize{.mean = std::move(mean), .stddev = std::move(stddev)});
}
/// Delivers (H, W, C) instead of (C, H, W).
inline Chain channels_last() {
  return one_step(step::ChannelsLast{});
}
}  // namespace penstock::image

namespace penstock::step {
struct RandomErasing {
  double probability = 0.5;
  Range scale{0.02, 0.33};          ///< share of the area
  Range ratio{0.3, 3.3};            ///< height / width, log-uniform
  std::vector<double> value = {0};  ///< one number, or one per channel; empty: normally distributed ones
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::image, .leaves_places = true};
  /// The box in an output of `size` pixels, smaller than that in both directions; nothing if none is erased. Draws:
  /// whether to erase; then like draw_box(). Source: torchvision 0.20, transforms/v2/_augment.py, RandomErasing.
  std::optional<Region> box(Size size, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::image {
/// The options of random_erasing().
using ErasingKeywords = step::RandomErasing;
/// Overwrites a random box of the output; after normalize(), in its units. Outputs that follow() are not changed.
/// Source: torchvision.transforms.v2.RandomErasing.
inline Chain random_erasing(const ErasingKeywords& keywords = {}) {
  return one_step(keywords);
}
}  // namespace penstock::image
