// Highway compiles this file once for each SIMD level (see pixel_rows.cpp).
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/dct/idct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/dct/idct-inl.hpp>
#include <transforms/image/dct/idct.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

// The constants of jidctint.c. Each is rounded to 13 bits before constants are added, so that merged products equal
// jidctint.c's sums of products to the last bit.
constexpr std::int16_t k0_298 = fixed(0.298631336), k0_390 = fixed(0.390180644), k0_541 = fixed(0.541196100),
                       k0_765 = fixed(0.765366865), k0_899 = fixed(0.899976223), k1_175 = fixed(1.175875602),
                       k1_501 = fixed(1.501321110), k1_847 = fixed(1.847759065), k1_961 = fixed(1.961570560),
                       k2_053 = fixed(2.053119869), k2_562 = fixed(2.562915447), k3_072 = fixed(3.072711026);

constexpr std::int16_t sum(int a, int b = 0, int c = 0, int d = 0) {
  return static_cast<std::int16_t>(a + b + c + d);
}

/// Transforms columns: rows[k] holds coefficient k of each column, and becomes sample k.
///
/// Like libjpeg-turbo's jidctint-sse2.asm, merges the rotations of jidctint.c into sums of two products, for which
/// there is one instruction. Unlike there, all additions have 32 bits.
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

/// Writes columns of samples as rows of bytes.
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
