// Highway compiles this file once for each SIMD level; see pixel_rows.cpp.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "penstock/transforms/warp_rows.cpp"
#include <algorithm>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <penstock/transforms/warp_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::warp_rows::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 4>;  // the channels of a pixel
using Ints = hn::Rebind<std::int32_t, Doubles>;
using IntBytes = hn::Rebind<std::uint8_t, Doubles>;
using V = hn::Vec<Doubles>;

constexpr std::size_t kLanes = 4;

/// Four channels of a pixel, in as many vectors as the level needs.
struct Pixel {
  V part[kLanes / hn::MaxLanes(Doubles())];
};

template <class Make>
HWY_INLINE Pixel each(Make make) {
  Pixel result;
  for (std::size_t i = 0; i < kLanes / hn::MaxLanes(Doubles()); ++i) result.part[i] = make(i);
  return result;
}

template <int kChannels>
HWY_INLINE Pixel load(const std::uint8_t* pixel) {
  std::uint8_t bytes[16] = {};
  std::memcpy(bytes, pixel, kChannels);
  return each([&](std::size_t i) HWY_ATTR {
    const auto whole = hn::PromoteTo(Ints(), hn::LoadU(IntBytes(), bytes + i * hn::MaxLanes(Doubles())));
    return hn::PromoteTo(Doubles(), whole);
  });
}

/// Towards zero, within 0 and 255.
template <int kChannels>
HWY_INLINE void store(const Pixel& pixel, std::uint8_t* out) {
  std::uint8_t bytes[16];
  const Doubles d;
  for (std::size_t i = 0; i < kLanes / hn::MaxLanes(Doubles()); ++i) {
    const auto clipped = hn::Min(hn::Max(pixel.part[i], hn::Zero(d)), hn::Set(d, 255.0));
    hn::StoreU(hn::DemoteTo(IntBytes(), hn::DemoteTo(Ints(), clipped)), IntBytes(), bytes + i * hn::MaxLanes(d));
  }
  std::memcpy(out, bytes, kChannels);
}

HWY_INLINE Pixel linear(const Pixel& a, const Pixel& b, double distance) {
  const auto weight = hn::Set(Doubles(), distance);
  return each([&](std::size_t i)
                  HWY_ATTR { return hn::Add(a.part[i], hn::Mul(hn::Sub(b.part[i], a.part[i]), weight)); });
}

HWY_INLINE Pixel cubic(const Pixel& a, const Pixel& b, const Pixel& c, const Pixel& d, double distance) {
  const auto weight = hn::Set(Doubles(), distance), two = hn::Set(Doubles(), 2.0);
  return each([&](std::size_t i) HWY_ATTR {
    const V v1 = a.part[i], v2 = b.part[i], v3 = c.part[i], v4 = d.part[i];
    const V p2 = hn::Sub(v3, v1);
    const V p3 = hn::Sub(hn::Add(hn::Mul(two, hn::Sub(v1, v2)), v3), v4);
    const V p4 = hn::Add(hn::Sub(hn::Sub(v2, v1), v3), v4);
    return hn::Add(v2, hn::Mul(weight, hn::Add(p2, hn::Mul(weight, hn::Add(p3, hn::Mul(weight, p4))))));
  });
}

template <int kChannels>
class Interpolator {
 public:
  Interpolator(const Warp& warp, const PixelSource& source) : warp_(warp), source_(source) {}

  void run(bool bicubic, std::uint8_t* out) const {
    const Affine& a = warp_.matrix;
    const Region& window = warp_.window;
    const auto width = static_cast<double>(warp_.inner.width), height = static_cast<double>(warp_.inner.height);
    for (std::int64_t j = window.y; j < window.y + window.height; ++j) {
      const double down = static_cast<double>(j) + 0.5;
      for (std::int64_t i = window.x; i < window.x + window.width; ++i, out += kChannels) {
        const double across = static_cast<double>(i) + 0.5;
        const double x = a[0] * across + a[1] * down + a[2], y = a[3] * across + a[4] * down + a[5];
        if (x < 0.0 || x >= width || y < 0.0 || y >= height) {
          std::memcpy(out, warp_.fill.data(), kChannels);
        } else if (bicubic) {
          store<kChannels>(cubic_at(x - 0.5, y - 0.5), out);
        } else {
          store<kChannels>(linear_at(x - 0.5, y - 0.5), out);
        }
      }
    }
  }

 private:
  // Positions are -0.5 at least.
  static std::int64_t floor_of(double position) { return static_cast<std::int64_t>(position + 1.0) - 1; }

  Pixel at(std::int64_t x, std::int64_t y) const {
    x = std::clamp<std::int64_t>(x, 0, warp_.inner.width - 1);
    return load<kChannels>(source_.data + (y - source_.region.y) * source_.stride + (x - source_.region.x) * kChannels);
  }

  Pixel linear_row(std::int64_t x, std::int64_t y, double dx) const { return linear(at(x, y), at(x + 1, y), dx); }

  Pixel linear_at(double x, double y) const {
    const std::int64_t i = floor_of(x), j = floor_of(y);
    const double dx = x - static_cast<double>(i), dy = y - static_cast<double>(j);
    const Pixel upper = linear_row(i, std::max<std::int64_t>(j, 0), dx);
    return linear(upper, j + 1 < warp_.inner.height ? linear_row(i, j + 1, dx) : upper, dy);
  }

  Pixel cubic_row(std::int64_t x, std::int64_t y, double dx) const {
    return cubic(at(x - 1, y), at(x, y), at(x + 1, y), at(x + 2, y), dx);
  }

  // A row beyond the last one is the last; beyond the first, the first.
  Pixel cubic_at(double x, double y) const {
    const std::int64_t i = floor_of(x), j = floor_of(y);
    const double dx = x - static_cast<double>(i), dy = y - static_cast<double>(j);
    const std::int64_t last = warp_.inner.height - 1;
    Pixel rows[4];
    rows[0] = cubic_row(i, std::max<std::int64_t>(j - 1, 0), dx);
    for (std::int64_t row = 1; row < 4; ++row) {
      const std::int64_t place = j - 1 + row;
      rows[row] = place >= 0 && place <= last ? cubic_row(i, place, dx) : rows[row - 1];
    }
    return cubic(rows[0], rows[1], rows[2], rows[3], dy);
  }

  const Warp& warp_;
  const PixelSource& source_;
};

void interpolate(const Warp& warp, const PixelSource& source, bool bicubic, std::uint8_t* out) {
  switch (source.channels) {
    case 1:
      return Interpolator<1>(warp, source).run(bicubic, out);
    case 2:
      return Interpolator<2>(warp, source).run(bicubic, out);
    case 3:
      return Interpolator<3>(warp, source).run(bicubic, out);
    default:
      return Interpolator<4>(warp, source).run(bicubic, out);
  }
}

}  // namespace
}  // namespace penstock::warp_rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::warp_rows {

HWY_EXPORT(interpolate);

void interpolate(const Warp& warp, const PixelSource& source, bool bicubic, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(interpolate)(warp, source, bicubic, out);
}

}  // namespace penstock::warp_rows
#endif  // HWY_ONCE
