// Describes what a device does to a batch in one pass over its memory. Pointers are the device's; the values are
// small and copied.
#pragma once

#include <cstdint>

#include <penstock/schema.hpp>

namespace penstock {

/// Where an output image begins in its input image, and whether it is mirrored left to right. One a row, on the device.
struct ImageCrop {
  std::int32_t x = 0, y = 0;  ///< pixels; x + width and y + height lie inside the input
  std::int32_t flip = 0;      ///< not 0: mirrored
};

/// in (n, in_height, in_width, channels) uint8 -> out (n, channels, height, width), or (n, height, width, channels)
/// with `channels_last`:
///
///   out = in * scale[c] + bias[c]
///
/// computed in float32, product and sum rounded each, and rounded to nearest even for the narrower types: the same
/// bytes as the loader's processors compute. `dtype` is float32, float16 or bfloat16; uint8 takes the pixels as they
/// are.
struct ImagePass {
  const std::uint8_t* in = nullptr;
  void* out = nullptr;
  const ImageCrop* crops = nullptr;  ///< null: from (0, 0), not mirrored
  std::int64_t rows = 0;             ///< n
  std::int32_t channels = 3;         ///< 1, 3 or 4
  std::int32_t in_height = 0, in_width = 0, height = 0, width = 0;
  DType dtype = DType::f32;
  bool channels_last = false;
  float scale[4] = {1, 1, 1, 1};
  float bias[4] = {};
};

/// Throws Error: invalid_argument, for sizes, channels or a dtype that a pass does not have.
void check(const ImagePass& pass);

/// (pixel / 255 - mean) / stddev, as `scale` and `bias` of each channel.
void normalize(ImagePass& pass, const float* mean, const float* stddev);

/// One decoded image, and what becomes of it. `tables` are weights in units of 2^-22 for the output before it is
/// mirrored, int32 one after the other:
///
///   x begins (width), x weights (width, taps_x), y begins (height), y weights (height, taps_y)
///
/// Pixel (x, y) is the sum over the taps from pixel (x begin, y begin) on; begin + taps must lie inside the image,
/// which the device does not check.
struct ResampledImage {
  const std::uint8_t* pixels = nullptr;  ///< RGB, row by row
  std::int64_t pitch = 0;                ///< bytes from a row to the next
  std::uint8_t* out = nullptr;           ///< (height, width, 3), without gaps
  const std::int32_t* tables = nullptr;
  std::int32_t taps_x = 1, taps_y = 1;
  bool vertical_first = false;  ///< the pass whose sums are rounded to uint8 before the other sees them
  bool flip = false, flip_vertical = false;
};

/// Crops, antialiased resizes and flips of decoded images, each its own, to one size: the same bytes as the loader's
/// processors make of the same pixels. Source of weights and rounding: Pillow, Resample.c.
struct ResamplePass {
  static constexpr std::int32_t kMostImages = 32;

  ResampledImage image[kMostImages] = {};
  std::int32_t images = 0;
  std::int32_t height = 0, width = 0;  ///< of the outputs
};

void check(const ResamplePass& pass);  ///< as for images

/// A step of a point pass: what points:: of chains has by that name, with the same draws.
struct PointMove {
  enum class Kind : std::uint8_t {
    center,          ///< the mean moves to (0, 0, 0)
    unit_sphere,     ///< divided by the largest distance from (0, 0, 0)
    scale,           ///< by `low`
    random_scale,    ///< by a factor from `low` to `high`
    shift,           ///< by numbers from -low to low along each axis
    rotate_about_z,  ///< by a random angle; normals turn too
    rotate_free,     ///< by any rotation
    jitter,          ///< by normal draws of deviation `low`, clipped to +-high
  };
  Kind kind = Kind::center;
  std::uint32_t transform = 0;  ///< number of the step, for its draws
  double low = 0, high = 0;
};

/// Clouds of a batch: in (clouds, in_points, columns) float32, coordinates first -> out (clouds, points, columns), or
/// (clouds, columns, points) with `channels_first`, of float32, float16, bfloat16 or float64, rounded to nearest even.
/// Point i is in point numbers[cloud][i] where there are numbers, else in point i; then come `move`s, in their order.
/// Other columns than coordinates and normals are taken along unchanged.
///
/// The bytes are those of chains on the host, on every device: draws are the same function of key, sample, transform
/// and place, sums are added in the same order, and no device joins products and sums.
/// Source of draws: Philox4x32-10, as penstock/random.hpp says.
struct PointPass {
  static constexpr std::int32_t kMostMoves = 12;

  const float* in = nullptr;
  float* work = nullptr;  ///< (clouds, points, columns): may be `in`, where there are no numbers; is written
  void* out = nullptr;    ///< may be `work`, for float32 that is not channels_first
  const std::int32_t* numbers = nullptr;   ///< (clouds, points), each in [0, in_points): not checked on the device
  const std::uint64_t* samples = nullptr;  ///< (clouds,), of the draws; null where nothing is drawn
  /// (clouds + 1,), rising: cloud n is points begins[n] to begins[n + 1] of all, which lie without gaps, and in_points
  /// and points are those of all clouds. Null: each cloud has as many.
  const std::int64_t* begins = nullptr;
  std::int64_t clouds = 0, in_points = 0, points = 0;
  std::int32_t columns = 3;
  std::int32_t normals = 0;  ///< the first of three columns that turn with the points; 0: there are none
  std::int32_t moves = 0;
  PointMove move[kMostMoves] = {};
  std::uint64_t key = 0;  ///< of the draws: see key_of_draws()
  DType dtype = DType::f32;
  bool channels_first = false;
};

void check(const PointPass& pass);  ///< as for images

std::uint64_t key_of_draws(std::uint64_t seed, std::uint64_t epoch);

}  // namespace penstock
