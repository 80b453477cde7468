// What a device does to a batch in one pass over its memory. Pointers are the device's; the values are small and
// copied.
#pragma once

#include <cstdint>

#include <penstock/formats/schema.hpp>

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

/// Clouds of a batch: in (clouds, in_points, columns) float32 -> out (clouds, points, columns), coordinates first. In
/// this order, each step only where it is asked for:
///
///   numbers    out point i is in point numbers[cloud][i], else in point i
///   unit       divided by the largest distance from the origin, of the points taken
///   rotations  turned by a row-major 3 x 3 matrix for each cloud
///   sigma      each coordinate plus sigma times a normal draw, clipped to +-clip; a draw is a function of seed, the
///              cloud's key, point and axis (Philox4x32-10, Box and Muller's transform)
///   dtype      float32, float16, bfloat16
///
/// Columns behind the third are taken along unchanged. Results of different devices agree to 1e-6 of a cloud's extent,
/// and draws to 1e-6 of sigma: they use their own square root, sine and logarithm.
struct PointPass {
  const float* in = nullptr;
  void* out = nullptr;
  const std::int32_t* numbers = nullptr;  ///< (clouds, points), each in [0, in_points): not checked on the device
  const float* rotations = nullptr;       ///< (clouds, 3, 3)
  const std::uint64_t* keys = nullptr;    ///< (clouds,), of the draws: samples' numbers
  std::int64_t clouds = 0, in_points = 0, points = 0;
  std::int32_t columns = 3;
  bool unit = false;
  float sigma = 0, clip = 0;  ///< sigma 0: no draws
  std::uint64_t seed = 0;
  DType dtype = DType::f32;
};

void check(const PointPass& pass);  ///< as for images

}  // namespace penstock
