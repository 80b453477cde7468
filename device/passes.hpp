// Describes the work of a device on a batch in one pass over its memory. Pointers are device pointers; values are small
// and copied.
#pragma once

#include <cstdint>

#include <penstock/schema.hpp>

namespace penstock {

/// Position of an output image in its input image, and whether it is mirrored left to right. One per row, in device
/// memory.
struct ImageCrop {
  std::int32_t x = 0, y = 0;  ///< pixels; x + width and y + height are inside the input
  std::int32_t flip = 0;      ///< not 0: mirrored
};

/// Converts in (n, in_height, in_width, channels) uint8 -> out (n, channels, height, width), or (n, height, width,
/// channels) with `channels_last`:
///
///   out = in * scale[c] + bias[c]
///
/// The computation uses float32, and rounds product and sum separately. Narrower types are rounded to nearest even. The
/// bytes equal those of the loader on the CPU. `dtype` is float32, float16 or bfloat16; uint8 copies the pixels
/// unchanged.
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

/// Throws Error: invalid_argument, for sizes, channels or a dtype that a pass does not support.
void check(const ImagePass& pass);

/// Sets `scale` and `bias` of each channel to compute (pixel / 255 - mean) / stddev.
void normalize(ImagePass& pass, const float* mean, const float* stddev);

/// A decoded image and its output. `tables` contains weights in units of 2^-22 for the output before mirroring, as
/// consecutive int32 arrays:
///
///   x begins (width), x weights (width, taps_x), y begins (height), y weights (height, taps_y)
///
/// Pixel (x, y) is the sum over the taps from pixel (x begin, y begin) on. begin + taps must be inside the image; the
/// device does not check this.
struct ResampledImage {
  const std::uint8_t* pixels = nullptr;  ///< RGB, row by row
  std::int64_t pitch = 0;                ///< bytes from one row to the next
  std::uint8_t* out = nullptr;           ///< (height, width, 3), contiguous
  const std::int32_t* tables = nullptr;
  std::int32_t taps_x = 1, taps_y = 1;
  bool vertical_first = false;  ///< the vertical pass runs first; its sums are rounded to uint8
  bool flip = false, flip_vertical = false;
};

/// Crops, resizes (antialiased) and flips decoded images individually, to one size. The bytes equal those of the loader
/// on the CPU for the same pixels. Source of weights and rounding: Pillow, Resample.c.
struct ResamplePass {
  static constexpr std::int32_t kMostImages = 32;

  ResampledImage image[kMostImages] = {};
  std::int32_t images = 0;
  std::int32_t height = 0, width = 0;  ///< of the outputs
};

void check(const ResamplePass& pass);  ///< throws as check(ImagePass)

/// A step of a point pass. Equals the step of the same name in points:: of chains, with the same draws.
struct PointMove {
  enum class Kind : std::uint8_t {
    center,          ///< moves the mean to (0, 0, 0)
    unit_sphere,     ///< divides by the largest distance from (0, 0, 0)
    scale,           ///< multiplies by `low`
    random_scale,    ///< multiplies by a factor from `low` to `high`
    shift,           ///< adds numbers from -low to low along each axis
    rotate_about_z,  ///< rotates by a random angle, normals too
    rotate_free,     ///< rotates randomly in 3D, normals too
    jitter,          ///< adds normal draws with deviation `low`, clipped to +-high
  };
  Kind kind = Kind::center;
  std::uint32_t transform = 0;  ///< number of the step, for its draws
  double low = 0, high = 0;
};

/// Clouds of a batch: in (clouds, in_points, columns) float32, coordinates first -> out (clouds, points, columns), or
/// (clouds, columns, points) with `channels_first`. The output is float32, float16, bfloat16 or float64, rounded to
/// nearest even. Point i is input point numbers[cloud][i], or input point i without numbers. Then the `move`s are
/// applied in order. Columns other than coordinates and normals are copied unchanged.
///
/// The bytes equal those of chains on the host, on every device. Draws are the same function of key, sample, transform
/// and position; sums are added in the same order; and no device fuses products and sums.
/// Source of draws: Philox4x32-10, as described in penstock/random.hpp.
struct PointPass {
  static constexpr std::int32_t kMostMoves = 12;

  const float* in = nullptr;
  float* work = nullptr;                   ///< (clouds, points, columns); written; may equal `in` without numbers
  void* out = nullptr;                     ///< may equal `work`, for float32 without channels_first
  const std::int32_t* numbers = nullptr;   ///< (clouds, points), each in [0, in_points); not checked on the device
  const std::uint64_t* samples = nullptr;  ///< (clouds,), for the draws; null if nothing is drawn
  /// (clouds + 1,), ascending: cloud n is points begins[n] to begins[n + 1] of all points, which are contiguous. In
  /// that case in_points and points count all clouds. Null: all clouds have equal sizes.
  const std::int64_t* begins = nullptr;
  std::int64_t clouds = 0, in_points = 0, points = 0;
  std::int32_t columns = 3;
  std::int32_t normals = 0;  ///< first of three columns that rotate with the points; 0: none
  std::int32_t moves = 0;
  PointMove move[kMostMoves] = {};
  std::uint64_t key = 0;  ///< of the draws: see key_of_draws()
  DType dtype = DType::f32;
  bool channels_first = false;
};

void check(const PointPass& pass);  ///< throws as check(ImagePass)

std::uint64_t key_of_draws(std::uint64_t seed, std::uint64_t epoch);

}  // namespace penstock
