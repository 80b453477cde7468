// Highway compiles this file once for each SIMD level (see pixel_rows.cpp).
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "penstock/transforms/jpt/idct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <penstock/transforms/jpt/blocks.hpp>
#include <penstock/transforms/jpt/idct.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::int16_t, 32>;  // 8 columns of one, two or four blocks
using Ints = hn::RepartitionToWide<Words>;
using Bytes = hn::Repartition<std::uint8_t, Words>;
using V = hn::Vec<Words>;
using W = hn::Vec<Ints>;

constexpr int kConstBits = 13;  ///< of the constants
constexpr int kPass1Bits = 2;   ///< kept between the passes

constexpr std::int16_t fixed(double value) {
  return static_cast<std::int16_t>(value * (1 << kConstBits) + (value < 0 ? -0.5 : 0.5));
}

// The constants of jidctint.c, each rounded to 13 bits before they are added up.
constexpr std::int16_t k0_298 = fixed(0.298631336), k0_390 = fixed(0.390180644), k0_541 = fixed(0.541196100),
                       k0_765 = fixed(0.765366865), k0_899 = fixed(0.899976223), k1_175 = fixed(1.175875602),
                       k1_501 = fixed(1.501321110), k1_847 = fixed(1.847759065), k1_961 = fixed(1.961570560),
                       k2_053 = fixed(2.053119869), k2_562 = fixed(2.562915447), k3_072 = fixed(3.072711026);

constexpr std::int16_t sum(int a, int b = 0, int c = 0, int d = 0) {
  return static_cast<std::int16_t>(a + b + c + d);
}

/// a[2i] * b[2i] + a[2i+1] * b[2i+1].
HWY_INLINE HWY_ATTR W products(V a, V b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return W{_mm512_madd_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return W{_mm256_madd_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  return W{_mm_madd_epi16(a.raw, b.raw)};
#else
  const Ints d;
  const auto x = hn::BitCast(d, a), y = hn::BitCast(d, b);
  const auto even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(x)), hn::ShiftRight<16>(hn::ShiftLeft<16>(y)));
  return hn::Add(even, hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(y)));
#endif
}

/// Two rows, their columns in turn: what products() takes, in two halves.
struct Two {
  V lower, upper;
};

HWY_INLINE HWY_ATTR Two interleaved(V a, V b) {
  const Words d;
  return {hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)};
}

struct Wide {
  W lower, upper;
};

HWY_INLINE HWY_ATTR Wide operator+(Wide a, Wide b) {
  return {hn::Add(a.lower, b.lower), hn::Add(a.upper, b.upper)};
}
HWY_INLINE HWY_ATTR Wide operator-(Wide a, Wide b) {
  return {hn::Sub(a.lower, b.lower), hn::Sub(a.upper, b.upper)};
}

/// x * a + y * b for the two rows x, y.
HWY_INLINE HWY_ATTR Wide weighed(Two rows, std::int16_t a, std::int16_t b) {
  const Ints d;
  const auto both = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(a)) |
                                              static_cast<std::uint32_t>(static_cast<std::uint16_t>(b)) << 16);
  const V weights = hn::BitCast(Words(), hn::Set(d, both));
  return {products(rows.lower, weights), products(rows.upper, weights)};
}

template <int kShift>
HWY_INLINE HWY_ATTR V narrowed(Wide sums) {
  return hn::ReorderDemote2To(Words(), hn::ShiftRight<kShift>(sums.lower), hn::ShiftRight<kShift>(sums.upper));
}

// clang takes minutes over what sanitizers make of two passes of the portable level in one function.
#undef PENSTOCK_PASS
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PENSTOCK_PASS HWY_NOINLINE
#else
#define PENSTOCK_PASS HWY_INLINE
#endif

/// One pass, over columns: rows[k] holds coefficient k of each column, and gets sample k.
template <int kShift>
PENSTOCK_PASS HWY_ATTR void pass(V* rows) {
  const Ints d;
  const Two in04 = interleaved(rows[0], rows[4]), in26 = interleaved(rows[2], rows[6]);
  const Two in13 = interleaved(rows[1], rows[3]), in57 = interleaved(rows[5], rows[7]);

  const W half = hn::Set(d, 1 << (kShift - 1));
  const Wide rounding{half, half};
  constexpr std::int16_t one = 1 << kConstBits;
  const Wide sum04 = weighed(in04, one, one) + rounding, difference04 = weighed(in04, one, -one) + rounding;
  const Wide sum26 = weighed(in26, sum(k0_541, k0_765), k0_541),
             difference26 = weighed(in26, k0_541, sum(k0_541, -k1_847));
  const Wide even0 = sum04 + sum26, even3 = sum04 - sum26;
  const Wide even1 = difference04 + difference26, even2 = difference04 - difference26;

  const Wide odd0 = weighed(in13, sum(k1_501, -k0_899, -k0_390, k1_175), k1_175) +
                    weighed(in57, sum(k1_175, -k0_390), sum(k1_175, -k0_899));
  const Wide odd1 = weighed(in13, k1_175, sum(k3_072, -k2_562, -k1_961, k1_175)) +
                    weighed(in57, sum(k1_175, -k2_562), sum(k1_175, -k1_961));
  const Wide odd2 = weighed(in13, sum(k1_175, -k0_390), sum(k1_175, -k2_562)) +
                    weighed(in57, sum(k2_053, -k2_562, -k0_390, k1_175), k1_175);
  const Wide odd3 = weighed(in13, sum(k1_175, -k0_899), sum(k1_175, -k1_961)) +
                    weighed(in57, k1_175, sum(k0_298, -k0_899, -k1_961, k1_175));

  rows[0] = narrowed<kShift>(even0 + odd0);
  rows[7] = narrowed<kShift>(even0 - odd0);
  rows[1] = narrowed<kShift>(even1 + odd1);
  rows[6] = narrowed<kShift>(even1 - odd1);
  rows[2] = narrowed<kShift>(even2 + odd2);
  rows[5] = narrowed<kShift>(even2 - odd2);
  rows[3] = narrowed<kShift>(even3 + odd3);
  rows[4] = narrowed<kShift>(even3 - odd3);
}

/// Rows to columns, within each block.
HWY_INLINE HWY_ATTR void transpose(V* rows) {
  const Words d;
  V a[8], b[8];
  for (std::size_t i = 0; i < 4; ++i) {  // rows 0 4, 1 5, 2 6, 3 7
    a[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + 4]);
    a[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + 4]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    b[2 * i] = hn::InterleaveLower(d, a[i], a[i + 4]);
    b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + 4]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    rows[2 * i] = hn::InterleaveLower(d, b[i], b[i + 4]);
    rows[2 * i + 1] = hn::InterleaveUpper(d, b[i], b[i + 4]);
  }
}

/// The rows of as many blocks as a vector holds.
HWY_INLINE HWY_ATTR void load(const std::int16_t* blocks, V* rows) {
  const Words d;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  for (std::size_t half = 0; half < 2; ++half) {
    const std::int16_t* from = blocks + 32 * half;
    const __m512i a = hn::LoadU(d, from).raw, b = hn::LoadU(d, from + 64).raw;
    const __m512i c = hn::LoadU(d, from + 128).raw, e = hn::LoadU(d, from + 192).raw;
    const __m512i ab01 = _mm512_shuffle_i32x4(a, b, 0x44), ab23 = _mm512_shuffle_i32x4(a, b, 0xEE);
    const __m512i ce01 = _mm512_shuffle_i32x4(c, e, 0x44), ce23 = _mm512_shuffle_i32x4(c, e, 0xEE);
    rows[4 * half] = V{_mm512_shuffle_i32x4(ab01, ce01, 0x88)};
    rows[4 * half + 1] = V{_mm512_shuffle_i32x4(ab01, ce01, 0xDD)};
    rows[4 * half + 2] = V{_mm512_shuffle_i32x4(ab23, ce23, 0x88)};
    rows[4 * half + 3] = V{_mm512_shuffle_i32x4(ab23, ce23, 0xDD)};
  }
#elif HWY_TARGET == HWY_AVX2
  for (std::size_t two = 0; two < 4; ++two) {
    const V a = hn::LoadU(d, blocks + 16 * two), b = hn::LoadU(d, blocks + 64 + 16 * two);
    rows[2 * two] = hn::ConcatLowerLower(d, b, a);
    rows[2 * two + 1] = hn::ConcatUpperUpper(d, b, a);
  }
#else
  for (std::size_t i = 0; i < 8; ++i) rows[i] = hn::LoadU(d, blocks + 8 * i);
#endif
}

/// Two columns as bytes: in each 16, 8 of the first and 8 of the second.
HWY_INLINE HWY_ATTR hn::Vec<Bytes> limited(V a, V b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const hn::Vec<Bytes> packed{_mm512_packs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  const hn::Vec<Bytes> packed{_mm256_packs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  const hn::Vec<Bytes> packed{_mm_packs_epi16(a.raw, b.raw)};
#else
  const hn::Half<hn::Repartition<std::int8_t, Words>> half;
  const auto packed = hn::BitCast(
      Bytes(), hn::Combine(hn::Repartition<std::int8_t, Words>(), hn::DemoteTo(half, b), hn::DemoteTo(half, a)));
#endif
  return hn::Xor(packed, hn::Set(Bytes(), 0x80));  // + 128
}

/// Columns of samples to rows of bytes.
HWY_INLINE HWY_ATTR void store(const V* columns, std::uint8_t* out, std::ptrdiff_t stride) {
  const Bytes d;
  const hn::Repartition<std::uint16_t, Words> d16;
  const hn::Repartition<std::uint32_t, Words> d32;
  const hn::Repartition<std::uint64_t, Words> d64;
  const auto c04 = limited(columns[0], columns[4]), c15 = limited(columns[1], columns[5]);
  const auto c26 = limited(columns[2], columns[6]), c37 = limited(columns[3], columns[7]);
  const auto c01 = hn::BitCast(d16, hn::InterleaveLower(d, c04, c15)),
             c45 = hn::BitCast(d16, hn::InterleaveUpper(d, c04, c15));
  const auto c23 = hn::BitCast(d16, hn::InterleaveLower(d, c26, c37)),
             c67 = hn::BitCast(d16, hn::InterleaveUpper(d, c26, c37));
  const auto low03 = hn::BitCast(d32, hn::InterleaveLower(d16, c01, c23)),
             high03 = hn::BitCast(d32, hn::InterleaveUpper(d16, c01, c23));
  const auto low47 = hn::BitCast(d32, hn::InterleaveLower(d16, c45, c67)),
             high47 = hn::BitCast(d32, hn::InterleaveUpper(d16, c45, c67));
  const auto rows01 = hn::BitCast(d64, hn::InterleaveLower(d32, low03, low47)),
             rows23 = hn::BitCast(d64, hn::InterleaveUpper(d32, low03, low47));
  const auto rows45 = hn::BitCast(d64, hn::InterleaveLower(d32, high03, high47)),
             rows67 = hn::BitCast(d64, hn::InterleaveUpper(d32, high03, high47));
  const hn::Half<hn::Repartition<std::uint64_t, Words>> half;
  auto both = [&](auto a, auto b, std::ptrdiff_t y) HWY_ATTR {
#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_EMU128
    const auto even = hn::ConcatEven(d64, b, a), odd = hn::ConcatOdd(d64, b, a);
#else
    const auto even = hn::InterleaveLower(d64, a, b), odd = hn::InterleaveUpper(d64, a, b);
#endif
    auto* to = out + y * stride;
    hn::StoreU(hn::LowerHalf(half, even), half, reinterpret_cast<std::uint64_t*>(to));
    hn::StoreU(hn::LowerHalf(half, odd), half, reinterpret_cast<std::uint64_t*>(to + stride));
    hn::StoreU(hn::UpperHalf(half, even), half, reinterpret_cast<std::uint64_t*>(to + 2 * stride));
    hn::StoreU(hn::UpperHalf(half, odd), half, reinterpret_cast<std::uint64_t*>(to + 3 * stride));
  };
  both(rows01, rows23, 0);
  both(rows45, rows67, 4);
}

void idct(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out, std::ptrdiff_t stride) {
  const std::size_t at_once = hn::Lanes(Words()) / 8;
  for (std::size_t i = 0; i < blocks; i += at_once) {
    V rows[8];
    load(coefficients + i * kBlockSize, rows);
    pass<kConstBits - kPass1Bits>(rows);
    transpose(rows);
    pass<kConstBits + kPass1Bits + 3>(rows);
    store(rows, out + 8 * i, stride);
  }
}

}  // namespace
}  // namespace penstock::jpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::jpt {

HWY_EXPORT(idct);

void idct(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out, std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(idct)(coefficients, blocks, out, stride);
}

}  // namespace penstock::jpt
#endif  // HWY_ONCE
