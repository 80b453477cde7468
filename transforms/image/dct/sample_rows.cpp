// Highway compiles this file once for each SIMD level (see pixel_rows.cpp).
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/dct/sample_rows.cpp"
#include <algorithm>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/dct/sample_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint16_t, 32>;
using Signed = hn::RebindToSigned<Words>;
using Ints = hn::RepartitionToWide<Signed>;
using HalfBytes = hn::Rebind<std::uint8_t, Words>;
using Bytes = hn::CappedTag<std::uint8_t, 64>;

HWY_INLINE HWY_ATTR hn::Vec<Words> words(const std::uint8_t* from) {
  return hn::PromoteTo(Words(), hn::LoadU(HalfBytes(), from));
}

HWY_INLINE HWY_ATTR hn::Vec<Words> thrice(hn::Vec<Words> v) {
  return hn::Add(v, hn::Add(v, v));
}

/// Interleaves bytes a and b (both at most 255) and stores them.
HWY_INLINE HWY_ATTR void store_pairs(hn::Vec<Words> a, hn::Vec<Words> b, std::uint8_t* out) {
  const auto pairs = hn::Or(a, hn::ShiftLeft<8>(b));
  hn::StoreU(pairs, Words(), reinterpret_cast<std::uint16_t*>(out));
}

void widen(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  const Words d;
  const auto one = hn::Set(d, 1), two = hn::Set(d, 2);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto middle = thrice(words(in + i));
    store_pairs(hn::ShiftRight<2>(hn::Add(hn::Add(middle, words(in + i - 1)), one)),
                hn::ShiftRight<2>(hn::Add(hn::Add(middle, words(in + i + 1)), two)), out + 2 * i);
  }
}

void widen_between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint8_t* out) {
  const Words d;
  const auto seven = hn::Set(d, 7), eight = hn::Set(d, 8);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto left = hn::Add(thrice(words(near + i - 1)), words(far + i - 1));
    const auto middle = thrice(hn::Add(thrice(words(near + i)), words(far + i)));
    const auto right = hn::Add(thrice(words(near + i + 1)), words(far + i + 1));
    store_pairs(hn::ShiftRight<4>(hn::Add(hn::Add(middle, left), eight)),
                hn::ShiftRight<4>(hn::Add(hn::Add(middle, right), seven)), out + 2 * i);
  }
}

void between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, unsigned bias, std::uint8_t* out) {
  const Words d;
  const auto half = hn::Set(d, static_cast<std::uint16_t>(bias));
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto sum = hn::Add(hn::Add(thrice(words(near + i)), words(far + i)), half);
    hn::StoreU(hn::DemoteTo(HalfBytes(), hn::BitCast(Signed(), hn::ShiftRight<2>(sum))), HalfBytes(), out + i);
  }
}

/// Returns x * fraction / 65536, rounded. Doubling x first keeps the bit that decides the rounding.
HWY_INLINE HWY_ATTR hn::Vec<Signed> part(hn::Vec<Signed> x, std::int16_t fraction) {
  const Signed d;
  const auto twice = hn::MulHigh(hn::Add(x, x), hn::Set(d, fraction));
  return hn::ShiftRight<1>(hn::Add(twice, hn::Set(d, 1)));
}

/// Returns a[2i] * x + a[2i+1] * y.
HWY_INLINE HWY_ATTR hn::Vec<Ints> products(hn::Vec<Signed> pairs, std::int16_t x, std::int16_t y) {
  const Ints d;
  const auto both = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(x)) |
                                              static_cast<std::uint32_t>(static_cast<std::uint16_t>(y)) << 16);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return hn::Vec<Ints>{_mm512_madd_epi16(pairs.raw, hn::Set(d, both).raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Ints>{_mm256_madd_epi16(pairs.raw, hn::Set(d, both).raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  return hn::Vec<Ints>{_mm_madd_epi16(pairs.raw, hn::Set(d, both).raw)};
#else
  (void)both;
  const auto v = hn::BitCast(d, pairs);
  const auto even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(v)), hn::Set(d, x));
  return hn::Add(even, hn::Mul(hn::ShiftRight<16>(v), hn::Set(d, y)));
#endif
}

constexpr std::int16_t kRed = 26345;      // 1.40200 - 1, times 65536
constexpr std::int16_t kBlue = -14942;    // 1.77200 - 2, times 65536
constexpr std::int16_t kGreenB = -22554;  // -0.34414, times 65536
constexpr std::int16_t kGreenR = 18734;   // 1 - 0.71414, times 65536

/// Not yet limited to 0 to 255.
struct Rgb {
  hn::Vec<Signed> r, g, b;
};

// The factors 1.402, 1.772 and 0.714 do not fit into 16-bit fixed point, so only their differences to integers are
// multiplied. Source: libjpeg-turbo's jdcolext-sse2.asm.
HWY_INLINE HWY_ATTR Rgb converted(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr) {
  const Signed d;
  const Ints d32;
  const auto centre = hn::Set(d, 128);
  const auto luma = hn::BitCast(d, words(y));
  const auto blue = hn::Sub(hn::BitCast(d, words(cb)), centre), red = hn::Sub(hn::BitCast(d, words(cr)), centre);
  const auto half = hn::Set(d32, 1 << 15);
  const auto lower = hn::Add(products(hn::InterleaveLower(d, blue, red), kGreenB, kGreenR), half);
  const auto upper = hn::Add(products(hn::InterleaveUpper(d, blue, red), kGreenB, kGreenR), half);
  const auto green = hn::ReorderDemote2To(d, hn::ShiftRight<16>(lower), hn::ShiftRight<16>(upper));
  return {hn::Add(luma, hn::Add(red, part(red, kRed))), hn::Add(luma, hn::Sub(green, red)),
          hn::Add(luma, hn::Add(hn::Add(blue, blue), part(blue, kBlue)))};
}

#if HWY_TARGET == HWY_AVX3_DL

constexpr std::size_t kChunk = 64;  ///< pixels

/// For each of the 192 bytes of 64 pixels: its index among 64 reds and 64 greens, or among 64 blues.
struct Interleaving {
  alignas(64) std::uint8_t red_green[3][64] = {};
  alignas(64) std::uint8_t blue[3][64] = {};
  std::uint64_t is_blue[3] = {};
  constexpr Interleaving() {
    for (std::size_t i = 0; i < 192; ++i) {
      const auto pixel = static_cast<std::uint8_t>(i / 3);
      red_green[i / 64][i % 64] = static_cast<std::uint8_t>(pixel + (i % 3 == 1 ? 64 : 0));
      blue[i / 64][i % 64] = pixel;
      if (i % 3 == 2) is_blue[i / 64] |= std::uint64_t{1} << i % 64;
    }
  }
};
constexpr Interleaving kInterleaving;

HWY_INLINE HWY_ATTR __m512i both(hn::Vec<Signed> a, hn::Vec<Signed> b) {
  const HalfBytes d;
  return _mm512_inserti64x4(_mm512_castsi256_si512(hn::DemoteTo(d, a).raw), hn::DemoteTo(d, b).raw, 1);
}

HWY_INLINE HWY_ATTR void convert_chunk(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                       std::uint8_t* rgb) {
  const Rgb lower = converted(y, cb, cr), upper = converted(y + 32, cb + 32, cr + 32);
  const __m512i r = both(lower.r, upper.r), g = both(lower.g, upper.g), b = both(lower.b, upper.b);
  for (std::size_t i = 0; i < 3; ++i) {
    const __m512i mixed = _mm512_permutex2var_epi8(r, _mm512_load_si512(kInterleaving.red_green[i]), g);
    const __m512i all =
        _mm512_mask_permutexvar_epi8(mixed, kInterleaving.is_blue[i], _mm512_load_si512(kInterleaving.blue[i]), b);
    _mm512_storeu_si512(rgb + 64 * i, all);
  }
}

#elif HWY_TARGET == HWY_AVX2

constexpr std::size_t kChunk = 32;

HWY_INLINE HWY_ATTR hn::Vec<Bytes> both(hn::Vec<Signed> a, hn::Vec<Signed> b) {
  return hn::Vec<Bytes>{_mm256_permute4x64_epi64(_mm256_packus_epi16(a.raw, b.raw), 0xD8)};
}

HWY_INLINE HWY_ATTR void convert_chunk(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                       std::uint8_t* rgb) {
  const Rgb lower = converted(y, cb, cr), upper = converted(y + 16, cb + 16, cr + 16);
  hn::StoreInterleaved3(both(lower.r, upper.r), both(lower.g, upper.g), both(lower.b, upper.b), Bytes(), rgb);
}

#else

constexpr std::size_t kChunk = hn::MaxLanes(Words());

HWY_INLINE HWY_ATTR void convert_chunk(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                                       std::uint8_t* rgb) {
  const HalfBytes d;
  const Rgb v = converted(y, cb, cr);
  hn::StoreInterleaved3(hn::DemoteTo(d, v.r), hn::DemoteTo(d, v.g), hn::DemoteTo(d, v.b), d, rgb);
}

#endif

void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                std::uint8_t* rgb) {
  std::size_t i = 0;
  for (; i + kChunk <= count; i += kChunk) convert_chunk(y + i, cb + i, cr + i, rgb + 3 * i);
  if (i == count) return;
  std::uint8_t tail[3 * 64];
  convert_chunk(y + i, cb + i, cr + i, tail);
  std::memcpy(rgb + 3 * i, tail, 3 * (count - i));
}

void planes_to_rgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count,
                   std::uint8_t* rgb) {
  const hn::FixedTag<std::uint8_t, 16> d;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    hn::StoreInterleaved3(hn::LoadU(d, r + i), hn::LoadU(d, g + i), hn::LoadU(d, b + i), d, rgb + 3 * i);
  for (; i < count; ++i) {
    rgb[3 * i] = r[i];
    rgb[3 * i + 1] = g[i];
    rgb[3 * i + 2] = b[i];
  }
}

}  // namespace
}  // namespace penstock::jpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::jpt {

HWY_EXPORT(widen);
HWY_EXPORT(widen_between);
HWY_EXPORT(between);
HWY_EXPORT(ycc_to_rgb);
HWY_EXPORT(planes_to_rgb);

void widen(const std::uint8_t* in, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(widen)(in, count, out);
}

void widen_between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(widen_between)(near, far, count, out);
}

void between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, unsigned bias, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(between)(near, far, count, bias, out);
}

void repeat(const std::uint8_t* in, std::size_t count, std::size_t times, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i, out += times) std::fill_n(out, times, in[i]);
}

void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(ycc_to_rgb)(y, cb, cr, count, rgb);
}

void planes_to_rgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count,
                   std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(planes_to_rgb)(r, g, b, count, rgb);
}

}  // namespace penstock::jpt
#endif  // HWY_ONCE
