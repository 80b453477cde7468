// Generates scenes of textured shapes that occlude each other, with the statistics of photographs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/random.hpp>

namespace penstock {

/// A square plane of values with mean 0 and variance 1 that repeats in both directions; the side is a power of two.
struct Plane {
  std::uint32_t side = 0;
  std::vector<float> values;
  float at(std::uint32_t x, std::uint32_t y) const {
    return values[std::size_t{y & (side - 1)} * side + (x & (side - 1))];
  }
};

/// Two independent planes whose amplitude decreases with frequency as 1 / f^exponent: 1 for photographs, 0 for white
/// noise. Source: Field, "Relations between the statistics of natural images and the response properties of cortical
/// cells", JOSA A 4 (1987).
std::array<Plane, 2> noise_planes(std::uint32_t side, double exponent, std::uint64_t seed, std::uint32_t stream);

/// Textures from which all images of a seed are cut. Immutable; shared by the painting threads.
struct Palette {
  std::vector<Plane> natural;  ///< 1/f: light and shade, and colour
  Plane grain;                 ///< white noise
  static Palette make(std::uint32_t side, std::uint64_t seed);
};

struct Scene {
  std::uint32_t width, height;
  std::uint32_t label, classes;  ///< hue, shape and stripes depend on label / classes
  double grain;                  ///< standard deviation of the grain in grey levels
  double contrast;               ///< of light and shade, in grey levels
  double smallest;               ///< radius of the smallest shapes, as a share of the short side; the largest have 1/3
  std::uint32_t shapes;          ///< number of shapes, which occlude the background and each other
};

/// 8-bit RGB pixels, row by row. Uses the dead leaves model: shapes of power-law sizes on top of one another give edges
/// the scale invariance of photographs. Source: Lee, Mumford, Huang, "Occlusion Models for Natural Images", IJCV 41
/// (2001).
std::vector<std::uint8_t> paint(const Scene& scene, const Palette& palette, Random& random);

}  // namespace penstock
