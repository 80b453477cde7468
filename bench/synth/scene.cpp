#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <utility>

#include <bench/synth/scene.hpp>

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
        // Written out, because std::complex's product checks for NaN and is several times slower.
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

using Colour = std::array<float, 3>;

enum class Outline : std::uint8_t { ellipse, rectangle, diamond };

// One textured surface: the background, or a shape in front of it.
struct Surface {
  Outline outline = Outline::ellipse;
  float centre_x = 0, centre_y = 0, radius_x = 0, radius_y = 0;  // pixels
  Colour colour{};
  float contrast = 0, tint = 0;                   // grey levels of light and shade; of colour variation
  float stripes = 0, stripe_x = 0, stripe_y = 0;  // grey levels; cycles per pixel in x and y
  const Plane *light = nullptr, *warm = nullptr;  // textures
  std::uint32_t light_x = 0, light_y = 0, warm_x = 0, warm_y = 0;
};

float real(double value) {
  return static_cast<float>(value);
}

// Hue in [0, 1), saturation and value in the usual ranges; Foley and van Dam's hexcone.
Colour from_hsv(double hue, double saturation, double value) {
  auto channel = [&](double n) {
    const double k = std::fmod(n + hue * 6.0, 6.0);
    return real(255.0 * (value - value * saturation * std::clamp(std::min(k, 4.0 - k), 0.0, 1.0)));
  };
  return {channel(5), channel(3), channel(1)};
}

// Positive inside the outline. Near the edge, the value approximates the distance to it in pixels.
float inside(const Surface& surface, float x, float y) {
  const float dx = std::abs(x - surface.centre_x) / surface.radius_x,
              dy = std::abs(y - surface.centre_y) / surface.radius_y;
  const float radius = std::min(surface.radius_x, surface.radius_y);
  switch (surface.outline) {
    case Outline::ellipse:
      return (1.0F - std::sqrt(dx * dx + dy * dy)) * radius;
    case Outline::rectangle:
      return (1.0F - std::max(dx, dy)) * radius;
    case Outline::diamond:
      return (1.0F - dx - dy) * radius * 0.7F;
  }
  return 0;
}

Colour shade(const Surface& surface, std::uint32_t x, std::uint32_t y) {
  float light = surface.contrast * surface.light->at(x + surface.light_x, y + surface.light_y);
  const float warm = surface.tint * surface.warm->at(x + surface.warm_x, y + surface.warm_y);
  const float phase = surface.stripe_x * static_cast<float>(x) + surface.stripe_y * static_cast<float>(y);
  light += surface.stripes * (4.0F * std::abs(phase - std::floor(phase) - 0.5F) - 1.0F);
  return {surface.colour[0] + light + warm, surface.colour[1] + light, surface.colour[2] + light - warm};
}

void draw(std::vector<float>& pixels, const Scene& scene, const Surface& surface, bool background) {
  const auto first = [](float low) { return static_cast<std::uint32_t>(std::max(0.0F, low)); };
  const auto last = [](float high, std::uint32_t size) {
    return static_cast<std::uint32_t>(std::clamp(high + 2.0F, 0.0F, static_cast<float>(size)));
  };
  const std::uint32_t x0 = background ? 0 : first(surface.centre_x - surface.radius_x);
  const std::uint32_t y0 = background ? 0 : first(surface.centre_y - surface.radius_y);
  const std::uint32_t x1 = background ? scene.width : last(surface.centre_x + surface.radius_x, scene.width);
  const std::uint32_t y1 = background ? scene.height : last(surface.centre_y + surface.radius_y, scene.height);
  for (std::uint32_t y = y0; y < y1; ++y) {
    for (std::uint32_t x = x0; x < x1; ++x) {
      const float cover =
          background ? 1.0F
                     : std::clamp(0.5F + inside(surface, static_cast<float>(x), static_cast<float>(y)), 0.0F, 1.0F);
      if (cover <= 0.0F) continue;
      const Colour colour = shade(surface, x, y);
      float* pixel = pixels.data() + (std::size_t{y} * scene.width + x) * 3;
      for (std::size_t c = 0; c < 3; ++c) pixel[c] += cover * (colour[c] - pixel[c]);
    }
  }
}

const Plane& any(const Palette& palette, Random& random) {
  return palette.natural[random.below(palette.natural.size())];
}

Surface surface_of(const Scene& scene, const Palette& palette, Random& random, double hue_spread) {
  const double share = static_cast<double>(scene.label) / scene.classes;
  const double hue = share + hue_spread * random.uniform(-0.5, 0.5);
  Surface surface;
  const double saturation = random.uniform(0.25, 0.75), value = random.uniform(0.35, 0.8);
  surface.colour = from_hsv(hue - std::floor(hue), saturation, value);
  surface.contrast = real(scene.contrast * random.uniform(0.5, 1.5));
  surface.tint = real(random.uniform(4.0, 16.0));
  surface.light = &any(palette, random);
  surface.warm = &any(palette, random);
  for (std::uint32_t* offset : {&surface.light_x, &surface.light_y, &surface.warm_x, &surface.warm_y})
    *offset = static_cast<std::uint32_t>(random.below(surface.light->side));
  return surface;
}

Surface shape_of(const Scene& scene, const Palette& palette, Random& random) {
  Surface surface = surface_of(scene, palette, random, 1.5 / scene.classes);
  const double size = std::min(scene.width, scene.height);
  // Density of radii falls as r^-3 between the smallest and 1/3 of the image's short side.
  const double small = scene.smallest, large = 1.0 / 3.0, u = random.uniform();
  const double radius = size / std::sqrt((1 - u) / (small * small) + u / (large * large));
  const double stretch = random.uniform(0.6, 1.6);
  surface.outline = static_cast<Outline>(scene.label % 3);
  surface.radius_x = real(std::max(2.0, radius * stretch));
  surface.radius_y = real(std::max(2.0, radius / stretch));
  surface.centre_x = real(random.uniform(0.0, scene.width));
  surface.centre_y = real(random.uniform(0.0, scene.height));
  const double angle = std::numbers::pi * (scene.label * 7 % scene.classes) / scene.classes + random.uniform(-0.1, 0.1);
  const double period = 0.03 * size * (1.0 + scene.label % 4) + 2.0;
  surface.stripes = real(random.uniform(8.0, 30.0));
  surface.stripe_x = real(std::cos(angle) / period);
  surface.stripe_y = real(std::sin(angle) / period);
  return surface;
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

Palette Palette::make(std::uint32_t side, std::uint64_t seed) {
  Palette palette;
  for (std::uint32_t pair = 0; pair < 2; ++pair)
    for (Plane& plane : noise_planes(side, 1.0, seed, pair)) palette.natural.push_back(std::move(plane));
  palette.grain = std::move(noise_planes(side, 0.0, seed, 2)[0]);
  return palette;
}

std::vector<std::uint8_t> paint(const Scene& scene, const Palette& palette, Random& random) {
  std::vector<float> canvas(std::size_t{scene.width} * scene.height * 3);
  draw(canvas, scene, surface_of(scene, palette, random, 1.0), true);
  for (std::uint32_t i = 0; i < scene.shapes; ++i) draw(canvas, scene, shape_of(scene, palette, random), false);

  const auto grain_x = static_cast<std::uint32_t>(random.below(palette.grain.side));
  const auto grain_y = static_cast<std::uint32_t>(random.below(palette.grain.side));
  std::vector<std::uint8_t> pixels(canvas.size());
  for (std::uint32_t y = 0; y < scene.height; ++y) {
    for (std::uint32_t x = 0; x < scene.width; ++x) {
      const float grain = real(scene.grain) * palette.grain.at(x + grain_x, y + grain_y) + 0.5F;
      const std::size_t at = (std::size_t{y} * scene.width + x) * 3;
      for (std::size_t c = at; c < at + 3; ++c)
        pixels[c] = static_cast<std::uint8_t>(std::clamp(canvas[c] + grain, 0.0F, 255.0F));
    }
  }
  return pixels;
}

}  // namespace penstock
