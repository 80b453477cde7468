#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <utility>

#include <bench/synth/spectrum.hpp>
#include <penstock/transforms/random.hpp>

namespace penstock {
namespace {

using Complex = std::complex<float>;

std::vector<Complex> unit_roots(std::size_t size) {
  std::vector<Complex> roots(size / 2);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    roots[k] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  return roots;
}

// Inverse transform without its 1/n, radix 2, in place.
void transform(std::span<Complex> line, std::span<const Complex> roots) {
  const std::size_t size = line.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {
    std::size_t bit = size >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(line[i], line[j]);
  }
  for (std::size_t half = 1; half < size; half *= 2) {
    const std::size_t stride = size / (2 * half);
    for (std::size_t start = 0; start < size; start += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const Complex w = roots[k * stride], b = line[start + half + k];
        // Written out: std::complex's product checks for NaN and is several times slower.
        const Complex product{w.real() * b.real() - w.imag() * b.imag(), w.real() * b.imag() + w.imag() * b.real()};
        line[start + half + k] = line[start + k] - product;
        line[start + k] += product;
      }
    }
  }
}

void transpose(std::vector<Complex>& grid, std::size_t side) {
  constexpr std::size_t kTile = 32;
  for (std::size_t ty = 0; ty < side; ty += kTile)
    for (std::size_t tx = ty; tx < side; tx += kTile)
      for (std::size_t y = ty; y < std::min(ty + kTile, side); ++y)
        for (std::size_t x = std::max(tx, y + 1); x < std::min(tx + kTile, side); ++x)
          std::swap(grid[y * side + x], grid[x * side + y]);
}

void normalise(Plane& plane) {
  double sum = 0, squares = 0;
  for (const float value : plane.values) {
    sum += value;
    squares += double{value} * value;
  }
  const double count = static_cast<double>(plane.values.size()), mean = sum / count;
  const double scale = 1.0 / std::sqrt(std::max(squares / count - mean * mean, 1e-30));
  for (float& value : plane.values) value = static_cast<float>((value - mean) * scale);
}

}  // namespace

std::array<Plane, 2> noise_planes(std::uint32_t side, double exponent, std::uint64_t seed, std::uint32_t stream) {
  Random random(seed, 0, 0, stream);
  std::vector<Complex> grid(std::size_t{side} * side);
  for (std::uint32_t v = 0; v < side; ++v) {
    for (std::uint32_t u = 0; u < side; ++u) {
      const double fx = std::min(u, side - u), fy = std::min(v, side - v);
      const double frequency = std::sqrt(fx * fx + fy * fy);
      const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
      const double angle = 2.0 * std::numbers::pi * random.uniform();
      const double amplitude = u + v == 0 ? 0.0 : radius * std::pow(frequency, -exponent);
      grid[std::size_t{v} * side + u] = {static_cast<float>(amplitude * std::cos(angle)),
                                         static_cast<float>(amplitude * std::sin(angle))};
    }
  }
  const std::vector<Complex> roots = unit_roots(side);
  for (int axis = 0; axis < 2; ++axis) {
    for (std::size_t row = 0; row < side; ++row) transform({grid.data() + row * side, side}, roots);
    transpose(grid, side);
  }
  // The coefficients are independent of their mirror images, so real and imaginary part are two independent planes.
  std::array<Plane, 2> planes;
  for (Plane& plane : planes) {
    plane.side = side;
    plane.values.resize(grid.size());
  }
  for (std::size_t i = 0; i < grid.size(); ++i) {
    planes[0].values[i] = grid[i].real();
    planes[1].values[i] = grid[i].imag();
  }
  for (Plane& plane : planes) normalise(plane);
  return planes;
}

}  // namespace penstock
