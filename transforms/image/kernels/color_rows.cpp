// Highway compiles this file once for each SIMD level; see pixel_rows.cpp.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/kernels/color_rows.cpp"
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/kernels/color_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::color_rows::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = 16;  // RGB pixels at a time

using Bytes16 = hn::FixedTag<std::uint8_t, kBlock>;
using Bytes = hn::CappedTag<std::uint8_t, kSpare>;
using Ints = hn::CappedTag<std::int32_t, kBlock>;
using Floats = hn::RebindToFloat<Ints>;
using IntBytes = hn::Rebind<std::uint8_t, Ints>;
using Doubles = hn::CappedTag<double, 8>;
using HalfInts = hn::Rebind<std::int32_t, Doubles>;
using HalfFloats = hn::Rebind<float, Doubles>;
using HalfBytes = hn::Rebind<std::uint8_t, Doubles>;
using I = hn::Vec<Ints>;
using F = hn::Vec<Floats>;
using D = hn::Vec<Doubles>;

HWY_INLINE I load(const std::uint8_t* bytes) {
  return hn::PromoteTo(Ints(), hn::LoadU(IntBytes(), bytes));
}

HWY_INLINE void store(I values, std::uint8_t* bytes) {
  hn::StoreU(hn::DemoteTo(IntBytes(), values), IntBytes(), bytes);
}

HWY_INLINE I blended(I pixel, I base, F factor) {
  const Floats d;
  const auto moved = hn::Add(hn::ConvertTo(d, base), hn::Mul(factor, hn::ConvertTo(d, hn::Sub(pixel, base))));
  return hn::ConvertTo(Ints(), hn::Min(hn::Max(moved, hn::Zero(d)), hn::Set(d, 255.0f)));
}

void blend(std::uint8_t* pixels, std::size_t count, std::uint8_t base, float factor) {
  const auto bases = hn::Set(Ints(), base);
  const auto factors = hn::Set(Floats(), factor);
  for (std::size_t i = 0; i < count; i += hn::Lanes(Ints()))
    store(blended(load(pixels + i), bases, factors), pixels + i);
}

void blend_each(std::uint8_t* pixels, std::size_t count, const std::uint8_t* bases, float factor) {
  const auto factors = hn::Set(Floats(), factor);
  for (std::size_t i = 0; i < count; i += hn::Lanes(Ints()))
    store(blended(load(pixels + i), load(bases + i), factors), pixels + i);
}

HWY_INLINE I luma_of(I red, I green, I blue) {
  const Ints d;
  const auto sum = hn::Add(hn::Add(hn::Mul(red, hn::Set(d, 19595)), hn::Mul(green, hn::Set(d, 38470))),
                           hn::Add(hn::Mul(blue, hn::Set(d, 7471)), hn::Set(d, 0x8000)));
  return hn::ShiftRight<16>(sum);
}

/// The planes of 16 RGB pixels in memory.
struct Planes {
  alignas(64) std::uint8_t plane[3][kSpare];

  HWY_INLINE void load(const std::uint8_t* pixels) {
    const Bytes16 d;
    hn::Vec<Bytes16> red, green, blue;
    hn::LoadInterleaved3(d, pixels, red, green, blue);
    hn::Store(red, d, plane[0]);
    hn::Store(green, d, plane[1]);
    hn::Store(blue, d, plane[2]);
  }

  HWY_INLINE void store(std::uint8_t* pixels) const {
    const Bytes16 d;
    hn::StoreInterleaved3(hn::Load(d, plane[0]), hn::Load(d, plane[1]), hn::Load(d, plane[2]), d, pixels);
  }
};

/// Calls work(planes) for every 16 pixels. The last pixels are copied to a buffer first, because 48 bytes may exceed
/// kSpare.
template <class Work>
HWY_INLINE void each_block(std::uint8_t* pixels, std::size_t count, Work work) {
  Planes planes;
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    planes.load(pixels + i * 3);
    work(planes);
    planes.store(pixels + i * 3);
  }
  if (i == count) return;
  std::uint8_t tail[kBlock * 3] = {};
  std::memcpy(tail, pixels + i * 3, (count - i) * 3);
  planes.load(tail);
  work(planes);
  planes.store(tail);
  std::memcpy(pixels + i * 3, tail, (count - i) * 3);
}

void blend_luma(std::uint8_t* pixels, std::size_t count, float factor) {
  const auto factors = hn::Set(Floats(), factor);
  each_block(pixels, count, [&](Planes& planes) HWY_ATTR {
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(Ints())) {
      const I red = load(planes.plane[0] + i), green = load(planes.plane[1] + i), blue = load(planes.plane[2] + i);
      const I base = luma_of(red, green, blue);
      store(blended(red, base, factors), planes.plane[0] + i);
      store(blended(green, base, factors), planes.plane[1] + i);
      store(blended(blue, base, factors), planes.plane[2] + i);
    }
  });
}

void gray(std::uint8_t* pixels, std::size_t count) {
  each_block(pixels, count, [](Planes& planes) HWY_ATTR {
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(Ints())) {
      const I base = luma_of(load(planes.plane[0] + i), load(planes.plane[1] + i), load(planes.plane[2] + i));
      for (auto& plane : planes.plane) store(base, plane + i);
    }
  });
}

void luma(const std::uint8_t* pixels, std::size_t count, std::uint8_t* luma) {
  Planes planes;
  for (std::size_t i = 0; i < count; i += kBlock) {
    std::uint8_t block[kBlock * 3] = {};
    const std::size_t used = count - i < kBlock ? count - i : kBlock;
    std::memcpy(block, pixels + i * 3, used * 3);
    planes.load(block);
    for (std::size_t k = 0; k < kBlock; k += hn::Lanes(Ints())) {
      const I base = luma_of(load(planes.plane[0] + k), load(planes.plane[1] + k), load(planes.plane[2] + k));
      store(base, planes.plane[0] + k);
    }
    std::memcpy(luma + i, planes.plane[0], used);
  }
}

HWY_INLINE D wide(hn::Vec<HalfFloats> value) {
  return hn::PromoteTo(Doubles(), value);
}

HWY_INLINE hn::Vec<HalfFloats> narrow(D value) {
  return hn::DemoteTo(HalfFloats(), value);
}

/// Rounds non-negative values to the nearest integer, halves away from zero.
HWY_INLINE hn::Vec<HalfInts> rounded(D value) {
  const Doubles d;
  const auto whole = hn::DemoteTo(HalfInts(), value);
  const auto rest = hn::Sub(value, hn::PromoteTo(d, whole));
  const auto more = hn::IfThenElseZero(hn::Ge(rest, hn::Set(d, 0.5)), hn::Set(d, 1.0));
  return hn::Add(whole, hn::DemoteTo(HalfInts(), more));
}

/// Hue, saturation and value of pixels as Pillow computes them: quotients in float32, their sums in float64.
struct HueOf {
  hn::Vec<HalfInts> hue, saturation, value;

  HWY_INLINE HueOf(hn::Vec<HalfInts> red, hn::Vec<HalfInts> green, hn::Vec<HalfInts> blue) {
    const HalfFloats f;
    const Doubles d;
    const HalfInts n;
    value = hn::Max(red, hn::Max(green, blue));
    const auto least = hn::Min(red, hn::Min(green, blue));
    const auto is_gray = hn::Eq(value, least);
    const auto range = hn::ConvertTo(f, hn::IfThenElse(is_gray, hn::Set(n, 1), hn::Sub(value, least)));
    const auto highest = hn::ConvertTo(f, hn::Max(value, hn::Set(n, 1)));
    const auto red_part = hn::Div(hn::ConvertTo(f, hn::Sub(value, red)), range);
    const auto green_part = hn::Div(hn::ConvertTo(f, hn::Sub(value, green)), range);
    const auto blue_part = hn::Div(hn::ConvertTo(f, hn::Sub(value, blue)), range);
    const auto about_red = hn::Sub(blue_part, green_part);
    const auto about_green = narrow(hn::Sub(hn::Add(hn::Set(d, 2.0), wide(red_part)), wide(blue_part)));
    const auto about_blue = narrow(hn::Sub(hn::Add(hn::Set(d, 4.0), wide(green_part)), wide(red_part)));
    const auto is_red = hn::RebindMask(f, hn::Eq(red, value));
    const auto is_green = hn::RebindMask(f, hn::Eq(green, value));
    const auto sixths = hn::IfThenElse(is_red, about_red, hn::IfThenElse(is_green, about_green, about_blue));
    const auto turns = hn::Add(hn::Div(wide(sixths), hn::Set(d, 6.0)), hn::Set(d, 1.0));  // between 5/6 and 2
    const auto turn = narrow(hn::IfThenElse(hn::Ge(turns, hn::Set(d, 1.0)), hn::Sub(turns, hn::Set(d, 1.0)), turns));
    hue = hn::IfThenZeroElse(is_gray, hn::DemoteTo(n, hn::Mul(wide(turn), hn::Set(d, 255.0))));
    const auto share = hn::Div(range, highest);
    saturation = hn::IfThenZeroElse(is_gray, hn::DemoteTo(n, hn::Mul(wide(share), hn::Set(d, 255.0))));
  }
};

template <class Choose>
HWY_INLINE hn::Vec<HalfInts> chosen(hn::Vec<HalfInts> sixth, Choose choose) {
  auto result = choose(0);
  for (int i = 1; i < 6; ++i) result = hn::IfThenElse(hn::Eq(sixth, hn::Set(HalfInts(), i)), choose(i), result);
  return result;
}

/// The pixels for a hue, saturation and value.
struct ColorsOf {
  hn::Vec<HalfInts> red, green, blue;

  HWY_INLINE ColorsOf(hn::Vec<HalfInts> hue, hn::Vec<HalfInts> saturation, hn::Vec<HalfInts> value) {
    const Doubles d;
    const HalfInts n;
    const auto one = hn::Set(d, 1.0), most = hn::Set(d, 255.0);
    const auto sixths = hn::Div(hn::Mul(hn::PromoteTo(d, hue), hn::Set(d, 6.0)), most);
    const auto whole = hn::DemoteTo(n, sixths);
    const auto rest = narrow(hn::Sub(sixths, hn::PromoteTo(d, whole)));
    const auto share = narrow(hn::Div(hn::PromoteTo(d, saturation), most));
    const auto bright = hn::PromoteTo(d, value);
    const auto p = rounded(hn::Mul(bright, hn::Sub(one, wide(share))));
    const auto q = rounded(hn::Mul(bright, hn::Sub(one, wide(hn::Mul(share, rest)))));
    const auto t = rounded(hn::Mul(bright, hn::Sub(one, hn::Mul(wide(share), hn::Sub(one, wide(rest))))));
    const auto v = value;
    const auto sixth = hn::IfThenZeroElse(hn::Eq(whole, hn::Set(n, 6)), whole);
    const hn::Vec<HalfInts> reds[6] = {v, q, p, p, t, v}, greens[6] = {t, v, v, q, p, p}, blues[6] = {p, p, t, v, v, q};
    const auto is_gray = hn::Eq(saturation, hn::Zero(n));
    red = hn::IfThenElse(is_gray, v, chosen(sixth, [&](int i) HWY_ATTR { return reds[i]; }));
    green = hn::IfThenElse(is_gray, v, chosen(sixth, [&](int i) HWY_ATTR { return greens[i]; }));
    blue = hn::IfThenElse(is_gray, v, chosen(sixth, [&](int i) HWY_ATTR { return blues[i]; }));
  }
};

void shift_hue(std::uint8_t* pixels, std::size_t count, std::uint8_t shift) {
  const HalfInts n;
  each_block(pixels, count, [&](Planes& planes) HWY_ATTR {
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(Doubles())) {
      hn::Vec<HalfInts> channel[3];
      for (int c = 0; c < 3; ++c) channel[c] = hn::PromoteTo(n, hn::LoadU(HalfBytes(), planes.plane[c] + i));
      const HueOf from(channel[0], channel[1], channel[2]);
      const auto hue = hn::And(hn::Add(from.hue, hn::Set(n, shift)), hn::Set(n, 255));
      const ColorsOf to(hue, from.saturation, from.value);
      hn::StoreU(hn::DemoteTo(HalfBytes(), to.red), HalfBytes(), planes.plane[0] + i);
      hn::StoreU(hn::DemoteTo(HalfBytes(), to.green), HalfBytes(), planes.plane[1] + i);
      hn::StoreU(hn::DemoteTo(HalfBytes(), to.blue), HalfBytes(), planes.plane[2] + i);
    }
  });
}

void invert_from(std::uint8_t* pixels, std::size_t count, std::uint8_t threshold) {
  const Bytes d;
  const auto all = hn::Set(d, 255), least = hn::Set(d, threshold);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto pixel = hn::LoadU(d, pixels + i);
    hn::StoreU(hn::IfThenElse(hn::Lt(pixel, least), pixel, hn::Sub(all, pixel)), d, pixels + i);
  }
}

void keep_bits(std::uint8_t* pixels, std::size_t count, std::uint8_t mask) {
  const Bytes d;
  const auto kept = hn::Set(d, mask);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreU(hn::And(hn::LoadU(d, pixels + i), kept), d, pixels + i);
}

/// Returns (2 * sum + 13) / 26. The result is exact: no sum is halfway between integers. The product with the rounded
/// reciprocal errs by less than the distance to the next integer.
HWY_INLINE I thirteenth(I sum) {
  const Ints d;
  return hn::ShiftRight<18>(hn::Mul(hn::Add(hn::Add(sum, sum), hn::Set(d, 13)), hn::Set(d, ((1 << 18) + 25) / 26)));
}

void smooth(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below, std::size_t channels,
            std::size_t width, std::uint8_t* out) {
  const Ints d;
  const auto four = hn::Set(d, 4);
  const std::size_t end = (width - 1) * channels;
  for (std::size_t i = channels; i < end; i += hn::Lanes(d)) {
    auto sum = hn::Mul(load(row + i), four);
    for (const std::uint8_t* line : {above, row, below}) {
      sum = hn::Add(sum, hn::Add(load(line + i - channels), hn::Add(load(line + i), load(line + i + channels))));
    }
    store(thirteenth(sum), out + i);
  }
  std::memcpy(out, row, channels);
  std::memcpy(out + end, row + end, channels);
}

void blur_down(const std::uint8_t* const* rows, const float* weights, std::size_t taps, std::size_t count,
               float* sums) {
  const Floats d;
  const std::size_t middle = taps / 2;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto sum = hn::Mul(hn::ConvertTo(d, load(rows[middle] + i)), hn::Set(d, weights[middle]));
    for (std::size_t t = 0; t < middle; ++t) {
      const auto both = hn::Add(load(rows[t] + i), load(rows[taps - 1 - t] + i));
      sum = hn::Add(sum, hn::Mul(hn::ConvertTo(d, both), hn::Set(d, weights[t])));
    }
    hn::StoreU(sum, d, sums + i);
  }
}

void blur_across(const float* sums, const float* weights, std::size_t taps, std::size_t step, std::size_t count,
                 std::uint8_t* out) {
  const Floats d;
  const std::size_t middle = taps / 2;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const float* from = sums + i;
    auto sum = hn::Mul(hn::LoadU(d, from + middle * step), hn::Set(d, weights[middle]));
    for (std::size_t t = 0; t < middle; ++t) {
      const auto both = hn::Add(hn::LoadU(d, from + t * step), hn::LoadU(d, from + (taps - 1 - t) * step));
      sum = hn::Add(sum, hn::Mul(both, hn::Set(d, weights[t])));
    }
    store(hn::NearestInt(sum), out + i);
  }
}

}  // namespace
}  // namespace penstock::color_rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::color_rows {

HWY_EXPORT(blend);
HWY_EXPORT(blend_each);
HWY_EXPORT(blend_luma);
HWY_EXPORT(luma);
HWY_EXPORT(gray);
HWY_EXPORT(shift_hue);
HWY_EXPORT(invert_from);
HWY_EXPORT(keep_bits);
HWY_EXPORT(smooth);
HWY_EXPORT(blur_down);
HWY_EXPORT(blur_across);

void blend(std::uint8_t* pixels, std::size_t count, std::uint8_t base, float factor) {
  HWY_DYNAMIC_DISPATCH(blend)(pixels, count, base, factor);
}

void blend_each(std::uint8_t* pixels, std::size_t count, const std::uint8_t* bases, float factor) {
  HWY_DYNAMIC_DISPATCH(blend_each)(pixels, count, bases, factor);
}

void blend_luma(std::uint8_t* pixels, std::size_t count, float factor) {
  HWY_DYNAMIC_DISPATCH(blend_luma)(pixels, count, factor);
}

void luma(const std::uint8_t* pixels, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(luma)(pixels, count, out);
}

void gray(std::uint8_t* pixels, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(gray)(pixels, count);
}

void shift_hue(std::uint8_t* pixels, std::size_t count, std::uint8_t shift) {
  HWY_DYNAMIC_DISPATCH(shift_hue)(pixels, count, shift);
}

void invert_from(std::uint8_t* pixels, std::size_t count, std::uint8_t threshold) {
  HWY_DYNAMIC_DISPATCH(invert_from)(pixels, count, threshold);
}

void keep_bits(std::uint8_t* pixels, std::size_t count, std::uint8_t mask) {
  HWY_DYNAMIC_DISPATCH(keep_bits)(pixels, count, mask);
}

void smooth(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below, std::size_t channels,
            std::size_t width, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(smooth)(above, row, below, channels, width, out);
}

void blur_down(const std::uint8_t* const* rows, const float* weights, std::size_t taps, std::size_t count,
               float* sums) {
  HWY_DYNAMIC_DISPATCH(blur_down)(rows, weights, taps, count, sums);
}

void blur_across(const float* sums, const float* weights, std::size_t taps, std::size_t step, std::size_t count,
                 std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blur_across)(sums, weights, taps, step, count, out);
}

}  // namespace penstock::color_rows
#endif  // HWY_ONCE
