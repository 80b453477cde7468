// Computes a pixel of a resample pass, for the host compiler and for nvcc. Integer sums are equal on both.
#pragma once

#include <cstdint>

#include <device/pass_math.hpp>
#include <device/passes.hpp>

namespace penstock::resample_math {

constexpr int kWeightBits = 22;  // Pillow's PRECISION_BITS: 32 - 8 - 2

/// Weighted sums of three channels. They start at one half, which rounds the result.
struct Sum {
  std::int32_t r = 1 << (kWeightBits - 1), g = r, b = r;

  PENSTOCK_BOTH void add(std::uint8_t red, std::uint8_t green, std::uint8_t blue, std::int32_t weight) {
    r += red * weight;
    g += green * weight;
    b += blue * weight;
  }
};

PENSTOCK_BOTH std::uint8_t level(std::int32_t sum) {
  const std::int32_t value = sum >> kWeightBits;
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

/// The taps of an output position along one axis.
struct Taps {
  std::int32_t begin, count;
  const std::int32_t* weights;
};

PENSTOCK_BOTH Taps taps_of(const std::int32_t* table, std::int32_t places, std::int32_t taps, std::int32_t place) {
  return {table[place], taps, table + places + std::int64_t{place} * taps};
}

/// `inner` is the pass whose sums are rounded to levels first. Steps are in bytes.
PENSTOCK_BOTH Sum weighed(const std::uint8_t* first, const Taps& inner, std::int64_t inner_step, const Taps& outer,
                          std::int64_t outer_step) {
  Sum sum;
  for (std::int32_t o = 0; o < outer.count; ++o) {
    const std::uint8_t* pixel = first + o * outer_step;
    Sum line;
    for (std::int32_t i = 0; i < inner.count; ++i, pixel += inner_step) {
      line.add(pixel[0], pixel[1], pixel[2], inner.weights[i]);
    }
    sum.add(level(line.r), level(line.g), level(line.b), outer.weights[o]);
  }
  return sum;
}

/// Computes pixel (x, y) of image n, before mirroring, and stores it at its mirrored position.
PENSTOCK_BOTH void write(const ResamplePass& pass, std::int32_t n, std::int32_t x, std::int32_t y) {
  const ResampledImage& image = pass.image[n];
  const Taps across = taps_of(image.tables, pass.width, image.taps_x, x);
  const Taps down = taps_of(image.tables + std::int64_t{pass.width} * (1 + image.taps_x), pass.height, image.taps_y, y);
  const std::uint8_t* first = image.pixels + down.begin * image.pitch + std::int64_t{across.begin} * 3;
  const Sum sum = image.vertical_first ? weighed(first, down, image.pitch, across, 3)
                                       : weighed(first, across, 3, down, image.pitch);
  const std::int64_t to_x = image.flip ? pass.width - 1 - x : x;
  const std::int64_t to_y = image.flip_vertical ? pass.height - 1 - y : y;
  std::uint8_t* out = image.out + (to_y * pass.width + to_x) * 3;
  out[0] = level(sum.r);
  out[1] = level(sum.g);
  out[2] = level(sum.b);
}

}  // namespace penstock::resample_math
