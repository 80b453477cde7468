// Highway compiles this file once for each SIMD level.
//
// By default, Highway omits its portable level for GCC before 12.3, which miscompiles MulHigh (GCC bug 106322). This
// file does not use MulHigh, and resample_test checks the portable level like the others.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/kernels/pixel_rows.cpp"
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <penstock/error.hpp>
#include <transforms/image/kernels/pixel_rows.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::pixel_rows::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes16 = hn::FixedTag<std::uint8_t, 16>;
using Ints = hn::CappedTag<std::int32_t, 16>;  // at most 16 lanes, because a transposed block has 16 rows
using Floats = hn::RebindToFloat<Ints>;
using Words = hn::RebindToUnsigned<Ints>;
using IntBytes = hn::Rebind<std::uint8_t, Ints>;
using Halves = hn::Rebind<std::uint16_t, Ints>;

constexpr std::int32_t kPrecisionBits = 32 - 8 - 2;

// Compilers unroll few loops at -O2. A fold over indexes keeps arrays of vectors in registers.
template <std::size_t kCount>
using Indexes = std::make_index_sequence<kCount>;

/// Each 128-bit part of these vectors holds a row of one 16 x 16 block.
using Turned = hn::CappedTag<std::uint8_t, 64>;
constexpr std::size_t kTurned = hn::MaxLanes(Turned());  // columns transposed at once

/// Interleaves rows that are 8 apart. Four rounds transpose a block.
template <std::size_t... kRow>
HWY_INLINE HWY_ATTR void interleave(const hn::Vec<Turned>* in, hn::Vec<Turned>* out, std::index_sequence<kRow...>) {
  const Turned d;
  ((out[2 * kRow] = hn::InterleaveLower(d, in[kRow], in[kRow + 8]),
    out[2 * kRow + 1] = hn::InterleaveUpper(d, in[kRow], in[kRow + 8])),
   ...);
}

HWY_INLINE HWY_ATTR void transpose(hn::Vec<Turned>* rows) {
  hn::Vec<Turned> other[16];
  interleave(rows, other, Indexes<8>());
  interleave(other, rows, Indexes<8>());
  interleave(rows, other, Indexes<8>());
  interleave(other, rows, Indexes<8>());
}

/// Stores the 128-bit parts of a vector 16 * kBlock bytes apart.
HWY_INLINE HWY_ATTR void store_parts(hn::Vec<Turned> v, std::uint8_t* to) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(v.raw));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16 * kBlock), _mm512_extracti32x4_epi32(v.raw, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 32 * kBlock), _mm512_extracti32x4_epi32(v.raw, 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 48 * kBlock), _mm512_extracti32x4_epi32(v.raw, 3));
#elif HWY_TARGET == HWY_AVX2
  hn::StoreU(hn::LowerHalf(Bytes16(), v), Bytes16(), to);
  hn::StoreU(hn::UpperHalf(Bytes16(), v), Bytes16(), to + 16 * kBlock);
#else
  hn::StoreU(v, Bytes16(), to);
#endif
}

/// The reverse of store_parts().
HWY_INLINE HWY_ATTR hn::Vec<Turned> load_parts(const std::uint8_t* from) {
  const Bytes16 d;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const hn::Half<Turned> half;
  const auto lower = hn::Combine(half, hn::LoadU(d, from + 16 * kBlock), hn::LoadU(d, from));
  const auto upper = hn::Combine(half, hn::LoadU(d, from + 48 * kBlock), hn::LoadU(d, from + 32 * kBlock));
  return hn::Combine(Turned(), upper, lower);
#elif HWY_TARGET == HWY_AVX2
  return hn::Combine(Turned(), hn::LoadU(d, from + 16 * kBlock), hn::LoadU(d, from));
#else
  return hn::LoadU(d, from);
#endif
}

template <std::size_t... kRow>
HWY_INLINE HWY_ATTR void turn_in_step(const std::uint8_t* const* rows, std::size_t i, std::uint8_t* blocks,
                                      std::index_sequence<kRow...>) {
  hn::Vec<Turned> v[16] = {hn::LoadU(Turned(), rows[kRow] + i)...};
  transpose(v);
  (store_parts(v[kRow], blocks + (i + kRow) * kBlock), ...);
}

void turn_in(const std::uint8_t* const* rows, std::size_t count, std::uint8_t* blocks) {
  std::size_t i = 0;
  for (; i + kTurned <= count; i += kTurned) turn_in_step(rows, i, blocks, Indexes<16>());
  if (i == count) return;
  std::uint8_t tail[16][kTurned] = {};
  const std::uint8_t* tails[16];
  for (std::size_t r = 0; r < 16; ++r) {
    std::memcpy(tail[r], rows[r] + i, count - i);
    tails[r] = tail[r];
  }
  std::uint8_t turned[kTurned * kBlock];
  turn_in_step(tails, 0, turned, Indexes<16>());
  std::memcpy(blocks + i * kBlock, turned, (count - i) * kBlock);
}

template <std::size_t... kRow>
HWY_INLINE HWY_ATTR void turn_out_step(const std::uint8_t* blocks, std::uint8_t* const* rows, std::size_t i,
                                       std::size_t rows_used, std::index_sequence<kRow...>) {
  hn::Vec<Turned> v[16] = {load_parts(blocks + (i + kRow) * kBlock)...};
  transpose(v);
  if (rows_used == 16) return (hn::StoreU(v[kRow], Turned(), rows[kRow] + i), ...);
  for (std::size_t r = 0; r < rows_used; ++r) hn::StoreU(v[r], Turned(), rows[r] + i);
}

void turn_out(const std::uint8_t* blocks, std::size_t count, std::uint8_t* const* rows, std::size_t rows_used) {
  for (std::size_t i = 0; i < count; i += kTurned) turn_out_step(blocks, rows, i, rows_used, Indexes<16>());
}

template <class V>
HWY_INLINE hn::Vec<IntBytes> rounded(V sum) {
  return hn::DemoteTo(IntBytes(), hn::ShiftRight<kPrecisionBits>(sum));
}

/// Weighs one pixel of 16 rows. Each of the `kPart` parts has the lanes of a vector: rows of one channel.
template <std::size_t... kPart>
HWY_INLINE HWY_ATTR void weigh_pixel(const std::uint8_t* pixel, std::size_t pixel_size,
                                     std::span<const std::int32_t> weights, std::uint8_t* out,
                                     std::ptrdiff_t channel_step, std::index_sequence<kPart...>) {
  const Ints d;
  constexpr std::size_t lanes = hn::MaxLanes(Ints());
  const auto half = hn::Set(d, 1 << (kPrecisionBits - 1));
  hn::Vec<Ints> sums[sizeof...(kPart)] = {(static_cast<void>(kPart), half)...};
  for (const std::int32_t weight : weights) {
    const auto factor = hn::Set(d, weight);
    ((sums[kPart] =
          hn::Add(sums[kPart], hn::Mul(hn::PromoteTo(d, hn::LoadU(IntBytes(), pixel + kPart * lanes)), factor))),
     ...);
    pixel += pixel_size;
  }
  (hn::StoreU(rounded(sums[kPart]), IntBytes(),
              out + static_cast<std::ptrdiff_t>(kPart * lanes / kBlock) * channel_step + kPart * lanes % kBlock),
   ...);
}

template <std::size_t kChannels>
HWY_INLINE HWY_ATTR void weigh_pixels(const std::uint8_t* block, const FilterWeights& weights, std::uint8_t* out,
                                      std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step) {
  constexpr std::size_t pixel_size = kChannels * kBlock;
  const std::int64_t first = weights.taps_begin();
  for (std::int64_t i = 0; i < weights.count(); ++i, out += pixel_step) {
    weigh_pixel(block + static_cast<std::size_t>(weights.begin(i) - first) * pixel_size, pixel_size, weights.weights(i),
                out, channel_step, Indexes<pixel_size / hn::MaxLanes(Ints())>());
  }
}

void weigh_block(const std::uint8_t* block, std::size_t channels, const FilterWeights& weights, std::uint8_t* out,
                 std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step) {
  switch (channels) {
    case 1:
      return weigh_pixels<1>(block, weights, out, pixel_step, channel_step);
    case 2:
      return weigh_pixels<2>(block, weights, out, pixel_step, channel_step);
    case 3:
      return weigh_pixels<3>(block, weights, out, pixel_step, channel_step);
    default:
      return weigh_pixels<4>(block, weights, out, pixel_step, channel_step);
  }
}

void weigh_rows(const std::uint8_t* rows, std::ptrdiff_t stride, const std::int32_t* weights, std::size_t taps,
                std::size_t count, std::uint8_t* out) {
  const Ints d;
  const std::size_t lanes = hn::Lanes(d);
  const auto half = hn::Set(d, 1 << (kPrecisionBits - 1));
  for (std::size_t next = 0; next < count; next += 4 * lanes) {
    // The last step overlaps the one before, so that no scalar loop is needed.
    const std::size_t i = count < 4 * lanes ? 0 : std::min(next, count - 4 * lanes);
    auto sum0 = half, sum1 = half, sum2 = half, sum3 = half;
    const std::uint8_t* pixel = rows + i;
    for (std::size_t t = 0; t < taps; ++t, pixel += stride) {
      const auto weight = hn::Set(d, weights[t]);
      auto term = [&](std::size_t k)
                      HWY_ATTR { return hn::Mul(hn::PromoteTo(d, hn::LoadU(IntBytes(), pixel + k * lanes)), weight); };
      sum0 = hn::Add(sum0, term(0));
      sum1 = hn::Add(sum1, term(1));
      sum2 = hn::Add(sum2, term(2));
      sum3 = hn::Add(sum3, term(3));
    }
    hn::StoreU(rounded(sum0), IntBytes(), out + i);
    hn::StoreU(rounded(sum1), IntBytes(), out + i + lanes);
    hn::StoreU(rounded(sum2), IntBytes(), out + i + 2 * lanes);
    hn::StoreU(rounded(sum3), IntBytes(), out + i + 3 * lanes);
  }
}

/// Returns 16 bytes in reverse order.
HWY_INLINE hn::Vec<Bytes16> reversed(hn::Vec<Bytes16> v) {
  alignas(16) static constexpr std::uint8_t kOrder[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  return hn::TableLookupBytes(v, hn::Load(Bytes16(), kOrder));
}

/// Calls store(position, v) with 16 pixels of one to four channels. Returns the number of processed pixels.
template <class Store>
HWY_INLINE std::size_t sixteens(const std::uint8_t* pixels, std::size_t channels, std::size_t width, bool mirrored,
                                Store store) {
  const Bytes16 d;
  std::size_t i = 0;
  for (; i + 16 <= width; i += 16) {
    hn::Vec<Bytes16> v[4];
    switch (channels) {
      case 1:
        v[0] = hn::LoadU(d, pixels + i);
        break;
      case 2:
        hn::LoadInterleaved2(d, pixels + i * 2, v[0], v[1]);
        break;
      case 3:
        hn::LoadInterleaved3(d, pixels + i * 3, v[0], v[1], v[2]);
        break;
      default:
        hn::LoadInterleaved4(d, pixels + i * 4, v[0], v[1], v[2], v[3]);
        break;
    }
    for (std::size_t c = 0; mirrored && c < channels; ++c) v[c] = reversed(v[c]);
    store(mirrored ? width - 16 - i : i, v);
  }
  return i;
}

void separate(const std::uint8_t* pixels, std::size_t channels, std::size_t width, bool mirrored, std::uint8_t* planes,
              std::size_t plane_stride) {
  const Bytes16 d;
  std::size_t i = sixteens(pixels, channels, width, mirrored, [&](std::size_t x, const hn::Vec<Bytes16>* v) HWY_ATTR {
    for (std::size_t c = 0; c < channels; ++c) hn::StoreU(v[c], d, planes + c * plane_stride + x);
  });
  for (; i < width; ++i) {
    const std::size_t x = mirrored ? width - 1 - i : i;
    for (std::size_t c = 0; c < channels; ++c) planes[c * plane_stride + x] = pixels[i * channels + c];
  }
}

void mirror(const std::uint8_t* pixels, std::size_t channels, std::size_t width, std::uint8_t* out) {
  const Bytes16 d;
  std::size_t i = sixteens(pixels, channels, width, true, [&](std::size_t x, const hn::Vec<Bytes16>* v) HWY_ATTR {
    switch (channels) {
      case 1:
        hn::StoreU(v[0], d, out + x);
        break;
      case 2:
        hn::StoreInterleaved2(v[0], v[1], d, out + x * 2);
        break;
      case 3:
        hn::StoreInterleaved3(v[0], v[1], v[2], d, out + x * 3);
        break;
      default:
        hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, out + x * 4);
        break;
    }
  });
  for (; i < width; ++i) std::memcpy(out + (width - 1 - i) * channels, pixels + i * channels, channels);
}

/// Converts float32 bits to float16 bits, rounding to nearest even. Uses integer operations, because not every level
/// has an instruction for it. Below 2^-14, adding 0.5 lets the adder round to the subnormal's last bit.
template <class V>
HWY_INLINE auto half_bits(V value) {
  const Words d;
  const Floats df;
  const auto bits = hn::BitCast(d, value);
  const auto sign = hn::And(bits, hn::Set(d, 0x80000000u));
  const auto magnitude = hn::Xor(bits, sign);
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1u));
  const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, odd), hn::Set(d, 0xC8000FFFu)));
  const auto summed = hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f));
  const auto subnormal = hn::Sub(hn::BitCast(d, summed), hn::Set(d, 0x3F000000u));
  const auto is_nan = hn::Gt(magnitude, hn::Set(d, 0x7F800000u));
  const auto special = hn::IfThenElse(is_nan, hn::Set(d, 0x7E00u), hn::Set(d, 0x7C00u));
  const auto small = hn::Lt(magnitude, hn::Set(d, 0x38800000u));
  const auto large = hn::Gt(magnitude, hn::Set(d, 0x477FFFFFu));
  const auto finite = hn::IfThenElse(small, subnormal, normal);
  return hn::Or(hn::IfThenElse(large, special, finite), hn::ShiftRight<16>(sign));
}

/// Converts float32 bits to bfloat16 bits, rounding to nearest even.
template <class V>
HWY_INLINE auto brain_bits(V value) {
  const Words d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1u));
  const auto rounded_bits = hn::ShiftRight<16>(hn::Add(hn::Add(bits, odd), hn::Set(d, 0x7FFFu)));
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFFu));
  const auto nan_bits = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40u));
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7F800000u)), nan_bits, rounded_bits);
}

template <class V>
HWY_INLINE void store_halves(V bits, std::uint16_t* out) {
  hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(Ints(), bits)), Halves(), out);
}

/// Multiplies and adds with separate rounding on all levels, never fused.
template <class Affine, class Store>
HWY_INLINE void convert_all(const std::uint8_t* pixels, std::size_t count, Affine affine, Store store) {
  const Ints d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  auto vector = [&](std::size_t at, const std::uint8_t* from) HWY_ATTR {
    return affine(at, hn::ConvertTo(Floats(), hn::PromoteTo(d, hn::LoadU(IntBytes(), from))));
  };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto v0 = vector(i, pixels + i), v1 = vector(i + lanes, pixels + i + lanes);
    const auto v2 = vector(i + 2 * lanes, pixels + i + 2 * lanes), v3 = vector(i + 3 * lanes, pixels + i + 3 * lanes);
    store(i, lanes, v0);
    store(i + lanes, lanes, v1);
    store(i + 2 * lanes, lanes, v2);
    store(i + 3 * lanes, lanes, v3);
  }
  for (; i + lanes <= count; i += lanes) store(i, lanes, vector(i, pixels + i));
  if (i == count) return;
  std::uint8_t tail[16] = {};
  std::memcpy(tail, pixels + i, count - i);
  store(i, count - i, vector(i, tail));
}

template <class Affine>
HWY_INLINE void convert_to(const std::uint8_t* pixels, std::size_t count, DType dtype, Affine affine, std::byte* out) {
  using V = hn::Vec<Floats>;
  const std::size_t lanes = hn::Lanes(Ints());
  if (dtype == DType::f32) {
    convert_all(pixels, count, affine, [&](std::size_t i, std::size_t used, V v) HWY_ATTR {
      if (used == lanes) return hn::StoreU(v, Floats(), reinterpret_cast<float*>(out) + i);
      float tail[16];
      hn::StoreU(v, Floats(), tail);
      std::memcpy(out + i * sizeof(float), tail, used * sizeof(float));
    });
    return;
  }
  const bool brain = dtype == DType::bf16;
  convert_all(pixels, count, affine, [&](std::size_t i, std::size_t used, V v) HWY_ATTR {
    const auto bits = brain ? brain_bits(v) : half_bits(v);
    if (used == lanes) return store_halves(bits, reinterpret_cast<std::uint16_t*>(out) + i);
    std::uint16_t tail[16];
    store_halves(bits, tail);
    std::memcpy(out + i * sizeof(std::uint16_t), tail, used * sizeof(std::uint16_t));
  });
}

void convert(const std::uint8_t* pixels, std::size_t count, DType dtype, float scale, float bias, std::byte* out) {
  const Floats d;
  const auto scales = hn::Set(d, scale);
  const auto biases = hn::Set(d, bias);
  convert_to(
      pixels, count, dtype,
      [&](std::size_t, hn::Vec<Floats> v) HWY_ATTR { return hn::Add(hn::Mul(v, scales), biases); }, out);
}

void convert_each(const std::uint8_t* pixels, std::size_t count, DType dtype, const float* scales, const float* biases,
                  std::byte* out) {
  const Floats d;
  convert_to(
      pixels, count, dtype,
      [&](std::size_t i, hn::Vec<Floats> v)
          HWY_ATTR { return hn::Add(hn::Mul(v, hn::LoadU(d, scales + i)), hn::LoadU(d, biases + i)); },
      out);
}

}  // namespace
}  // namespace penstock::pixel_rows::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::pixel_rows {

HWY_EXPORT(turn_in);
HWY_EXPORT(turn_out);
HWY_EXPORT(weigh_block);
HWY_EXPORT(weigh_rows);
HWY_EXPORT(separate);
HWY_EXPORT(mirror);
HWY_EXPORT(convert);
HWY_EXPORT(convert_each);

void turn_in(const std::uint8_t* const* rows, std::size_t count, std::uint8_t* blocks) {
  HWY_DYNAMIC_DISPATCH(turn_in)(rows, count, blocks);
}

void turn_out(const std::uint8_t* blocks, std::size_t count, std::uint8_t* const* rows, std::size_t rows_used) {
  HWY_DYNAMIC_DISPATCH(turn_out)(blocks, count, rows, rows_used);
}

void weigh_block(const std::uint8_t* block, std::size_t channels, const FilterWeights& weights, std::uint8_t* out,
                 std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step) {
  HWY_DYNAMIC_DISPATCH(weigh_block)(block, channels, weights, out, pixel_step, channel_step);
}

void weigh_rows(const std::uint8_t* rows, std::ptrdiff_t stride, const std::int32_t* weights, std::size_t taps,
                std::size_t count, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(weigh_rows)(rows, stride, weights, taps, count, out);
}

void separate(const std::uint8_t* pixels, std::size_t channels, std::size_t width, bool mirrored, std::uint8_t* planes,
              std::size_t plane_stride) {
  HWY_DYNAMIC_DISPATCH(separate)(pixels, channels, width, mirrored, planes, plane_stride);
}

void mirror(const std::uint8_t* pixels, std::size_t channels, std::size_t width, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(mirror)(pixels, channels, width, out);
}

void convert(const std::uint8_t* pixels, std::size_t count, DType dtype, float scale, float bias, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(convert)(pixels, count, dtype, scale, bias, out);
}

void convert_each(const std::uint8_t* pixels, std::size_t count, DType dtype, const float* scales, const float* biases,
                  std::byte* out) {
  HWY_DYNAMIC_DISPATCH(convert_each)(pixels, count, dtype, scales, biases, out);
}

}  // namespace penstock::pixel_rows
#endif  // HWY_ONCE
