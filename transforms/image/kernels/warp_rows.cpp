// Highway compiles this file once for each SIMD level; see pixel_rows.cpp.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/kernels/warp_rows.cpp"
#include <algorithm>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/kernels/warp_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::warp_rows::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;  // one channel of several pixels
using Ints = hn::Rebind<std::int32_t, Doubles>;
using Bytes = hn::Rebind<std::uint8_t, Doubles>;
using V = hn::Vec<Doubles>;
using I = hn::Vec<Ints>;

constexpr bool kGathers = hn::MaxLanes(Doubles()) >= 4;  // otherwise pixel by pixel

// One formula for both numbers and vectors.
template <class T, class F>
HWY_INLINE HWY_ATTR T linear(T a, T b, T distance, F f) {
  return f.add(a, f.multiply(f.subtract(b, a), distance));
}

template <class T, class F>
HWY_INLINE HWY_ATTR T cubic(T v1, T v2, T v3, T v4, T distance, F f) {
  const T p2 = f.subtract(v3, v1);
  const T p3 = f.subtract(f.add(f.multiply(f.set(2.0), f.subtract(v1, v2)), v3), v4);
  const T p4 = f.add(f.subtract(f.subtract(v2, v1), v3), v4);
  return f.add(v2, f.multiply(distance, f.add(p2, f.multiply(distance, f.add(p3, f.multiply(distance, p4))))));
}

struct OnNumbers {
  static double set(double a) { return a; }
  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
};
struct OnVectors {
  static HWY_INLINE HWY_ATTR V set(double a) { return hn::Set(Doubles(), a); }
  static HWY_INLINE HWY_ATTR V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE HWY_ATTR V subtract(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE HWY_ATTR V multiply(V a, V b) { return hn::Mul(a, b); }
};

/// Columns and rows beyond the image's edge repeat the edge. Pillow repeats the last row it made, which is the same.
/// The source contains everything the window needs, so the edge of the source is only reached at the image's edge.
template <std::size_t kChannels, std::size_t kTaps>
class Interpolator {
 public:
  Interpolator(const Warp& warp, const PixelSource& source) : warp_(warp), source_(source) {
    const std::int64_t last_row = (source.region.height - 1) * source.stride;
    readable_ = last_row + source.region.width * kStep;
  }

  HWY_ATTR void run(std::uint8_t* out) const {
    const Region& window = warp_.window;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(Doubles()));
    const bool fits = readable_ < INT32_MAX;
    for (std::int64_t j = window.y; j < window.y + window.height; ++j) {
      const std::int64_t end = window.x + window.width;
      for (std::int64_t i = window.x; i < end;) {
        if (kGathers && fits && i + lanes <= end && vector(i, j, out)) {
          i += lanes;
          out += lanes * kStep;
        } else {
          pixel(i++, j, out);
          out += kChannels;
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kBefore = kTaps / 2 - 1;  ///< number of taps before the pixel that contains a position

  static constexpr auto kStep = static_cast<std::int64_t>(kChannels);

  static std::int64_t tap(std::size_t number) { return static_cast<std::int64_t>(number) - kBefore; }

  // Positions are at least -0.5, so adding 1 makes truncation round down.
  static std::int64_t floor_of(double position) { return static_cast<std::int64_t>(position + 1.0) - 1; }

  void pixel(std::int64_t i, std::int64_t j, std::uint8_t* out) const {
    const Affine& a = warp_.matrix;
    const double across = static_cast<double>(i) + 0.5, down = static_cast<double>(j) + 0.5;
    const double x = a[0] * across + a[1] * down + a[2], y = a[3] * across + a[4] * down + a[5];
    if (x < 0.0 || x >= static_cast<double>(warp_.inner.width) || y < 0.0 ||
        y >= static_cast<double>(warp_.inner.height)) {
      std::memcpy(out, warp_.fill.data(), kChannels);
      return;
    }
    const std::int64_t column = floor_of(x - 0.5), row = floor_of(y - 0.5);
    const double dx = x - 0.5 - static_cast<double>(column), dy = y - 0.5 - static_cast<double>(row);
    for (std::size_t c = 0; c < kChannels; ++c) {
      const double value = along(
          [&](std::size_t r) {
            return along([&](std::size_t k) { return at(column + tap(k), row + tap(r), c); }, dx, OnNumbers());
          },
          dy, OnNumbers());
      out[c] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));  // truncates
    }
  }

  double at(std::int64_t x, std::int64_t y, std::size_t channel) const {
    const Region& r = source_.region;
    x = std::clamp<std::int64_t>(x - r.x, 0, r.width - 1);
    y = std::clamp<std::int64_t>(y - r.y, 0, r.height - 1);
    return source_.data[y * source_.stride + x * kStep + static_cast<std::int64_t>(channel)];
  }

  /// Interpolates between at_tap(0), at_tap(1), ...
  template <class Tap, class T, class F>
  static HWY_INLINE HWY_ATTR T along(Tap at_tap, T distance, F f) {
    if constexpr (kTaps == 2) {
      return linear<T>(at_tap(0U), at_tap(1U), distance, f);
    } else {
      return cubic<T>(at_tap(0U), at_tap(1U), at_tap(2U), at_tap(3U), distance, f);
    }
  }

  /// Computes byte offsets of the taps' columns or rows. The source has `count` of them from `begin` on.
  HWY_INLINE HWY_ATTR static void offsets(I first, std::int64_t begin, std::int64_t count, std::int64_t step, I* taps) {
    const Ints d;
    const auto last = hn::Set(d, static_cast<std::int32_t>(count - 1));
    for (std::size_t k = 0; k < kTaps; ++k) {
      const auto place = hn::Add(first, hn::Set(d, static_cast<std::int32_t>(tap(k) - begin)));
      taps[k] = hn::Mul(hn::Min(hn::Max(place, hn::Zero(d)), last), hn::Set(d, static_cast<std::int32_t>(step)));
    }
  }

  /// Writes pixels i, i + 1, ... Returns false if a gather would read after the source's last byte.
  HWY_ATTR bool vector(std::int64_t i, std::int64_t j, std::uint8_t* out) const {
    const Doubles d;
    const Ints di;
    const Affine& a = warp_.matrix;
    const auto across = hn::Add(hn::ConvertTo(d, hn::Iota(hn::RebindToSigned<Doubles>(), i)), hn::Set(d, 0.5));
    const auto down = hn::Set(d, static_cast<double>(j) + 0.5);
    const auto mapped = [&](double p, double q, double r) HWY_ATTR {
      return hn::Add(hn::Add(hn::Mul(hn::Set(d, p), across), hn::Mul(hn::Set(d, q), down)), hn::Set(d, r));
    };
    const auto x = mapped(a[0], a[1], a[2]), y = mapped(a[3], a[4], a[5]);
    const auto zero = hn::Zero(d), one = hn::Set(d, 1.0), half = hn::Set(d, 0.5);
    const auto width = hn::Set(d, static_cast<double>(warp_.inner.width));
    const auto height = hn::Set(d, static_cast<double>(warp_.inner.height));
    const auto inside =
        hn::And(hn::And(hn::Ge(x, zero), hn::Lt(x, width)), hn::And(hn::Ge(y, zero), hn::Lt(y, height)));
    // Lanes outside the image read any valid position.
    const auto px = hn::Sub(hn::IfThenElseZero(inside, x), half), py = hn::Sub(hn::IfThenElseZero(inside, y), half);
    const I column = hn::Sub(hn::DemoteTo(di, hn::Add(px, one)), hn::Set(di, 1));
    const I row = hn::Sub(hn::DemoteTo(di, hn::Add(py, one)), hn::Set(di, 1));
    const auto dx = hn::Sub(px, hn::PromoteTo(d, column)), dy = hn::Sub(py, hn::PromoteTo(d, row));
    I columns[kTaps], rows[kTaps];
    offsets(column, source_.region.x, source_.region.width, kStep, columns);
    offsets(row, source_.region.y, source_.region.height, source_.stride, rows);
    const auto readable = hn::Set(di, static_cast<std::int32_t>(readable_ - 4));
    if (!hn::AllFalse(di, hn::Gt(hn::Add(columns[kTaps - 1], rows[kTaps - 1]), readable))) return false;
    I taps[kTaps][kTaps];
    for (std::size_t r = 0; r < kTaps; ++r) {
      for (std::size_t k = 0; k < kTaps; ++k)
        taps[r][k] =
            hn::GatherOffset(di, reinterpret_cast<const std::int32_t*>(source_.data), hn::Add(rows[r], columns[k]));
    }
    hn::Vec<Bytes> made[kChannels];
    for (std::size_t c = 0; c < kChannels; ++c) {
      const V value = along(
          [&](std::size_t r) HWY_ATTR {
            return along(
                [&](std::size_t k) HWY_ATTR {
                  const auto byte = hn::And(hn::ShiftRightSame(taps[r][k], static_cast<int>(8 * c)), hn::Set(di, 255));
                  return hn::PromoteTo(d, byte);
                },
                dx, OnVectors());
          },
          dy, OnVectors());
      const auto clipped = hn::Min(hn::Max(value, zero), hn::Set(d, 255.0));
      const auto kept = hn::IfThenElse(inside, clipped, hn::Set(d, static_cast<double>(warp_.fill[c])));
      made[c] = hn::DemoteTo(Bytes(), hn::DemoteTo(di, kept));
    }
    if constexpr (kChannels == 1) hn::StoreU(made[0], Bytes(), out);
    if constexpr (kChannels == 2) hn::StoreInterleaved2(made[0], made[1], Bytes(), out);
    if constexpr (kChannels == 3) hn::StoreInterleaved3(made[0], made[1], made[2], Bytes(), out);
    if constexpr (kChannels == 4) hn::StoreInterleaved4(made[0], made[1], made[2], made[3], Bytes(), out);
    return true;
  }

  const Warp& warp_;
  const PixelSource& source_;
  std::int64_t readable_;  ///< bytes of the source
};

template <std::size_t kChannels>
HWY_ATTR void run(const Warp& warp, const PixelSource& source, bool bicubic, std::uint8_t* out) {
  if (bicubic) return Interpolator<kChannels, 4>(warp, source).run(out);
  return Interpolator<kChannels, 2>(warp, source).run(out);
}

void interpolate(const Warp& warp, const PixelSource& source, bool bicubic, std::uint8_t* out) {
  switch (source.channels) {
    case 1:
      return run<1>(warp, source, bicubic, out);
    case 2:
      return run<2>(warp, source, bicubic, out);
    case 3:
      return run<3>(warp, source, bicubic, out);
    default:
      return run<4>(warp, source, bicubic, out);
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
