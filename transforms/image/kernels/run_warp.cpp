#include <algorithm>
#include <cmath>
#include <numbers>

#include <base/numbers/portable_math.hpp>
#include <transforms/image/kernels/warp.hpp>
#include <transforms/image/kernels/warp_rows.hpp>

namespace penstock {
namespace {

constexpr double kPoint = 65536.0;  // unit of fixed-point positions

// Rounds to 15 decimals like Pillow's rotate(), so that quarter turns are exact.
double rounded(double value) {
  return std::round(value * 1e15) / 1e15;
}

double radians(double degrees) {
  return degrees * (std::numbers::pi / 180);
}

std::int64_t fixed(double value) {
  return static_cast<std::int64_t>(std::floor(value * kPoint + 0.5));
}

// Returns whether all positions of the output fit into fixed point.
bool fits_fixed(const Affine& a, Size size) {
  const auto fits = [&a](std::int64_t i, std::int64_t j) {
    const auto x = static_cast<double>(i), y = static_cast<double>(j);
    return std::abs(x * a[0] + y * a[1] + a[2]) < 32768.0 && std::abs(x * a[3] + y * a[4] + a[5]) < 32768.0;
  };
  return fits(0, 0) && fits(size.width, size.height) && fits(0, size.height) && fits(size.width, 0);
}

// Returns the pixel under a position, or -1 before the first one.
std::int64_t under(double position) {
  return position < 0.0 ? -1 : static_cast<std::int64_t>(std::min(position, 1e15));
}

/// Nearest neighbour. Pillow computes positions in one of three ways, and this class chooses the same one.
/// Source: Pillow 13, Geometry.c: ImagingScaleAffine, affine_fixed, and the loop of ImagingTransformAffine.
class Nearest {
 public:
  Nearest(const Warp& warp, const PixelSource& source, std::uint8_t* out) : warp_(warp), source_(source), out_(out) {}

  void run() {
    if (warp_.matrix[1] == 0 && warp_.matrix[3] == 0) return scaled();
    if (fits_fixed(warp_.matrix, warp_.inner)) return fixed_point();
    summed();
  }

 private:
  void scaled() {
    const Affine& a = warp_.matrix;
    const Region& window = warp_.window;
    double y = a[5] + a[4] * 0.5;
    for (std::int64_t j = 0; j < window.y; ++j) y += a[4];
    for (std::int64_t j = 0; j < window.height; ++j, y += a[4]) {
      double x = a[2] + a[0] * 0.5;
      for (std::int64_t i = 0; i < window.x; ++i) x += a[0];
      for (std::int64_t i = 0; i < window.width; ++i, x += a[0]) put(under(x), under(y));
    }
  }

  void fixed_point() {
    const Affine& a = warp_.matrix;
    const Region& window = warp_.window;
    const std::int64_t across_x = fixed(a[0]), across_y = fixed(a[3]), down_x = fixed(a[1]), down_y = fixed(a[4]);
    const std::int64_t first_x = fixed(a[2] + a[0] * 0.5 + a[1] * 0.5), first_y = fixed(a[5] + a[3] * 0.5 + a[4] * 0.5);
    for (std::int64_t j = window.y; j < window.y + window.height; ++j) {
      std::int64_t x = first_x + j * down_x + window.x * across_x, y = first_y + j * down_y + window.x * across_y;
      for (std::int64_t i = 0; i < window.width; ++i, x += across_x, y += across_y) put(x >> 16, y >> 16);
    }
  }

  void summed() {
    const Affine& a = warp_.matrix;
    const Region& window = warp_.window;
    double first_x = a[2] + a[1] * 0.5 + a[0] * 0.5, first_y = a[5] + a[4] * 0.5 + a[3] * 0.5;
    for (std::int64_t j = 0; j < window.y + window.height; ++j, first_x += a[1], first_y += a[4]) {
      double x = first_x, y = first_y;
      for (std::int64_t i = 0; i < window.x + window.width; ++i, x += a[0], y += a[3]) {
        if (i >= window.x && j >= window.y) put(under(x), under(y));
      }
    }
  }

  void put(std::int64_t x, std::int64_t y) {
    const auto channels = static_cast<std::size_t>(source_.channels);
    const bool inside = x >= 0 && x < warp_.inner.width && y >= 0 && y < warp_.inner.height;
    const std::uint8_t* pixel =
        inside ? source_.data + (y - source_.region.y) * source_.stride + (x - source_.region.x) * source_.channels
               : warp_.fill.data();
    for (std::size_t c = 0; c < channels; ++c) out_[c] = pixel[c];
    out_ += channels;
  }

  const Warp& warp_;
  const PixelSource& source_;
  std::uint8_t* out_;
};

}  // namespace

Affine rotation(double degrees, Size size) {
  const double turned = std::fmod(degrees, 360.0);
  const double angle = -radians(turned < 0 ? turned + 360.0 : turned);
  const double cosine = rounded(portable::cos(angle)), sine = rounded(portable::sin(angle));
  const double x = static_cast<double>(size.width) / 2, y = static_cast<double>(size.height) / 2;
  Affine a{cosine, sine, 0, rounded(-portable::sin(angle)), cosine, 0};
  a[2] = a[0] * -x + a[1] * -y + 0.0 + x;
  a[5] = a[3] * -x + a[4] * -y + 0.0 + y;
  return a;
}

Affine inverse_affine(const AffineDraw& draw, double center_x, double center_y) {
  const double turn = radians(draw.degrees), x = radians(draw.shear_x), y = radians(draw.shear_y);
  const double a = portable::cos(turn - y) / portable::cos(y);
  const double b = -portable::cos(turn - y) * portable::tan(x) / portable::cos(y) - portable::sin(turn);
  const double c = portable::sin(turn - y) / portable::cos(y);
  const double d = -portable::sin(turn - y) * portable::tan(x) / portable::cos(y) + portable::cos(turn);
  Affine inverse{d / draw.scale, -b / draw.scale, 0, -c / draw.scale, a / draw.scale, 0};
  inverse[2] += inverse[0] * (-center_x - draw.translate_x) + inverse[1] * (-center_y - draw.translate_y);
  inverse[5] += inverse[3] * (-center_x - draw.translate_x) + inverse[4] * (-center_y - draw.translate_y);
  inverse[2] += center_x;
  inverse[5] += center_y;
  return inverse;
}

Region Warp::needed() const {
  double low_x = 0, low_y = 0, high_x = 0, high_y = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const auto i = static_cast<double>(window.x + (corner % 2 == 0 ? 0 : window.width));
    const auto j = static_cast<double>(window.y + (corner < 2 ? 0 : window.height));
    const double x = matrix[0] * i + matrix[1] * j + matrix[2], y = matrix[3] * i + matrix[4] * j + matrix[5];
    low_x = corner == 0 ? x : std::min(low_x, x);
    low_y = corner == 0 ? y : std::min(low_y, y);
    high_x = corner == 0 ? x : std::max(high_x, x);
    high_y = corner == 0 ? y : std::max(high_y, y);
  }
  constexpr double kReach = 3;  // reach of bicubic interpolation, plus rounding errors of fixed point and of sums
  const auto begin = [](double low, std::int64_t count) {
    return static_cast<std::int64_t>(std::clamp(std::floor(low - kReach), 0.0, static_cast<double>(count - 1)));
  };
  const auto end = [](double high, std::int64_t first, std::int64_t count) {
    return static_cast<std::int64_t>(
        std::clamp(std::ceil(high + kReach), static_cast<double>(first + 1), static_cast<double>(count)));
  };
  const std::int64_t x = begin(low_x, inner.width), y = begin(low_y, inner.height);
  return {x, y, end(high_x, x, inner.width) - x, end(high_y, y, inner.height) - y};
}

void Warp::map_point(double& x, double& y) const {
  const double determinant = matrix[0] * matrix[4] - matrix[1] * matrix[3];
  const double from_x = x - matrix[2], from_y = y - matrix[5];
  x = (matrix[4] * from_x - matrix[1] * from_y) / determinant - static_cast<double>(window.x);
  y = (matrix[0] * from_y - matrix[3] * from_x) / determinant - static_cast<double>(window.y);
}

void Warp::run(const PixelSource& source, Interpolation interpolated, std::uint8_t* out) const {
  if (interpolated == Interpolation::nearest) return Nearest(*this, source, out).run();
  warp_rows::interpolate(*this, source, interpolated == Interpolation::bicubic, out);
}

}  // namespace penstock
