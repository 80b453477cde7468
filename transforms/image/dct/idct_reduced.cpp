// Highway compiles this file once for each SIMD level (see pixel_rows.cpp).
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/dct/idct_reduced.cpp"
#include <algorithm>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/dct/idct-inl.hpp>
#include <transforms/image/dct/idct_reduced.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

// Shifts of the full-size passes. The products of passes to 4 and 2 samples are scaled by 2 and 4, as in jidctred.c, so
// those passes shift by 1 and 2 more bits.
constexpr int kShift1 = kConstBits - kPass1Bits, kShift2 = kConstBits + kPass1Bits + 3;

constexpr std::int16_t k0_211 = fixed(0.211164243), k0_509 = fixed(0.509795579), k0_601 = fixed(0.601344887),
                       k0_720 = fixed(0.720959822), k0_765 = fixed(0.765366865), k0_850 = fixed(0.850430095),
                       k0_899 = fixed(0.899976223), k1_061 = fixed(1.061594337), k1_272 = fixed(1.272758580),
                       k1_451 = fixed(1.451774981), k1_847 = fixed(1.847759065), k2_172 = fixed(2.172734803),
                       k2_562 = fixed(2.562915447), k3_624 = fixed(3.624509785);

/// Transforms coefficients 0 to 3 and 5 to 7 of each column to samples[0] to samples[3]. Like jidctred.c, leaves out
/// coefficient 4, on which 4 samples do not depend.
template <int kShift>
PENSTOCK_PASS HWY_ATTR void pass_to_4(const V* rows, V* samples) {
  const Words d;
  const W half = hn::Set(Ints(), 1 << kShift);
  const Wide rounding{half, half};
  const Wide dc = weighed(interleaved(rows[0], hn::Zero(d)), 1 << (kConstBits + 1), 0) + rounding;
  const Wide even = weighed(interleaved(rows[2], rows[6]), k1_847, -k0_765);
  const Two in75 = interleaved(rows[7], rows[5]), in31 = interleaved(rows[3], rows[1]);
  const Wide inner = weighed(in75, -k0_211, k1_451) + weighed(in31, -k2_172, k1_061);
  const Wide outer = weighed(in75, -k0_509, -k0_601) + weighed(in31, k0_899, k2_562);
  const Wide sum = dc + even, difference = dc - even;
  samples[0] = narrowed<kShift + 1>(sum + outer);
  samples[3] = narrowed<kShift + 1>(sum - outer);
  samples[1] = narrowed<kShift + 1>(difference + inner);
  samples[2] = narrowed<kShift + 1>(difference - inner);
}

/// Transforms coefficients 0, 1, 3, 5 and 7 of each column to samples[0] and samples[1].
template <int kShift>
PENSTOCK_PASS HWY_ATTR void pass_to_2(const V* rows, V* samples) {
  const W half = hn::Set(Ints(), 1 << (kShift + 1));
  const Wide rounding{half, half};
  // The weight 2^15 does not fit into 16 bits, so the DC coefficient is added twice with 2^14.
  const Wide dc = weighed(interleaved(rows[0], rows[0]), 1 << (kConstBits + 1), 1 << (kConstBits + 1)) + rounding;
  const Wide odd =
      weighed(interleaved(rows[7], rows[5]), -k0_720, k0_850) + weighed(interleaved(rows[3], rows[1]), -k1_272, k3_624);
  samples[0] = narrowed<kShift + 2>(dc + odd);
  samples[1] = narrowed<kShift + 2>(dc - odd);
}

// The second pass combines the columns of two or four vectors of blocks, so that its vectors are full.

/// Writes the samples of block b of vector v to made[16 * (v * blocks of a vector + b)], four rows of four.
HWY_INLINE HWY_ATTR void to_4(const std::int16_t* coefficients, std::uint8_t* made) {
  const Bytes d;
  const hn::Repartition<std::uint16_t, Words> d16;
  const std::size_t lanes = hn::Lanes(Words());
  V rows[8], columns[8], samples[4];
  for (std::size_t v = 0; v < 2; ++v) {
    load(coefficients + v * 8 * lanes, rows);
    pass_to_4<kShift1>(rows, columns + 4 * v);
  }
  transpose(columns);
  pass_to_4<kShift2>(columns, samples);
  const auto c02 = limited(samples[0], samples[2]), c13 = limited(samples[1], samples[3]);
  const auto c01 = hn::BitCast(d16, hn::InterleaveLower(d, c02, c13));
  const auto c23 = hn::BitCast(d16, hn::InterleaveUpper(d, c02, c13));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d16, c01, c23)), d, made);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d16, c01, c23)), d, made + 2 * lanes);
}

/// Writes the samples of block b of vector v to made[16 * b + 4 * v], two rows of two.
HWY_INLINE HWY_ATTR void to_2(const std::int16_t* coefficients, std::uint8_t* made) {
  const Bytes d;
  const hn::Repartition<std::uint64_t, Words> d64;
  const std::size_t lanes = hn::Lanes(Words());
  V rows[8], columns[8], samples[2];
  for (std::size_t v = 0; v < 4; ++v) {
    load(coefficients + v * 8 * lanes, rows);
    pass_to_2<kShift1>(rows, columns + 2 * v);
  }
  transpose(columns);
  pass_to_2<kShift2>(columns, samples);
  const auto both = limited(samples[0], samples[1]);
  const auto right = hn::InterleaveUpper(d64, hn::BitCast(d64, both), hn::BitCast(d64, both));
  hn::StoreU(hn::InterleaveLower(d, both, hn::BitCast(d, right)), d, made);
}

void idct_4(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out, std::ptrdiff_t stride) {
  const std::size_t at_once = 2 * (hn::Lanes(Words()) / 8);
  alignas(64) std::uint8_t made[128];
  for (std::size_t i = 0; i < blocks; i += at_once, out += 4 * at_once) {
    to_4(coefficients + i * kBlockSize, made);
    const std::size_t count = std::min(at_once, blocks - i);
    for (std::ptrdiff_t y = 0; y < 4; ++y)
      for (std::size_t b = 0; b < count; ++b) std::memcpy(out + y * stride + 4 * b, made + 16 * b + 4 * y, 4);
  }
}

void idct_2(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out, std::ptrdiff_t stride) {
  const std::size_t in_vector = hn::Lanes(Words()) / 8, at_once = 4 * in_vector;
  alignas(64) std::uint8_t made[64];
  for (std::size_t i = 0; i < blocks; i += at_once, out += 2 * at_once) {
    to_2(coefficients + i * kBlockSize, made);
    const std::size_t count = std::min(at_once, blocks - i);
    for (std::ptrdiff_t y = 0; y < 2; ++y)
      for (std::size_t b = 0; b < count; ++b)
        std::memcpy(out + y * stride + 2 * b, made + 16 * (b % in_vector) + 4 * (b / in_vector) + 2 * y, 2);
  }
}

}  // namespace
}  // namespace penstock::jpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::jpt {
namespace {

// The mean of a block is an eighth of the DC coefficient.
void idct_1(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out) {
  for (std::size_t b = 0; b < blocks; ++b)
    out[b] = static_cast<std::uint8_t>(std::clamp(((coefficients[b * kBlockSize] + 4) >> 3) + 128, 0, 255));
}

}  // namespace

HWY_EXPORT(idct_4);
HWY_EXPORT(idct_2);

void idct_reduced(const std::int16_t* coefficients, std::size_t blocks, unsigned side, std::uint8_t* out,
                  std::ptrdiff_t stride) {
  if (side == 4) return HWY_DYNAMIC_DISPATCH(idct_4)(coefficients, blocks, out, stride);
  if (side == 2) return HWY_DYNAMIC_DISPATCH(idct_2)(coefficients, blocks, out, stride);
  idct_1(coefficients, blocks, out);
}

}  // namespace penstock::jpt
#endif  // HWY_ONCE
