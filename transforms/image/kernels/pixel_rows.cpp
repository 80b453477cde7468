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

/// Transposes a 16 x 16 block of bytes in four rounds. Each round interleaves rows that are 8 apart.
template <class Load, class Store>
HWY_INLINE void transpose(Load load, Store store) {
  const Bytes16 d;
  using V = hn::Vec<Bytes16>;
  V a[16], b[16];
  for (std::size_t i = 0; i < 16; ++i) a[i] = load(i);
  auto round = [&d](const V* in, V* out) HWY_ATTR {
    for (std::size_t i = 0; i < 8; ++i) {
      out[2 * i] = hn::InterleaveLower(d, in[i], in[i + 8]);
      out[2 * i + 1] = hn::InterleaveUpper(d, in[i], in[i + 8]);
    }
  };
  round(a, b);
  round(b, a);
  round(a, b);
  round(b, a);
  for (std::size_t i = 0; i < 16; ++i) store(i, a[i]);
}

void turn_in(const std::uint8_t* const* rows, std::size_t count, std::uint8_t* blocks) {
  const Bytes16 d;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    transpose([&](std::size_t r) HWY_ATTR { return hn::LoadU(d, rows[r] + i); },
              [&](std::size_t k, hn::Vec<Bytes16> v) HWY_ATTR { hn::StoreU(v, d, blocks + (i + k) * kBlock); });
  }
  if (i == count) return;
  std::uint8_t tail[16][16] = {};
  for (std::size_t r = 0; r < 16; ++r) std::memcpy(tail[r], rows[r] + i, count - i);
  transpose([&](std::size_t r) HWY_ATTR { return hn::LoadU(d, tail[r]); },
            [&](std::size_t k, hn::Vec<Bytes16> v) HWY_ATTR {
              if (i + k < count) hn::StoreU(v, d, blocks + (i + k) * kBlock);
            });
}

void turn_out(const std::uint8_t* blocks, std::size_t count, std::uint8_t* const* rows, std::size_t rows_used) {
  const Bytes16 d;
  for (std::size_t i = 0; i < count; i += 16) {
    transpose([&](std::size_t k) HWY_ATTR { return hn::LoadU(d, blocks + (i + k) * kBlock); },
              [&](std::size_t r, hn::Vec<Bytes16> v) HWY_ATTR {
                if (r < rows_used) hn::StoreU(v, d, rows[r] + i);
              });
  }
}

template <class V>
HWY_INLINE hn::Vec<IntBytes> rounded(V sum) {
  return hn::DemoteTo(IntBytes(), hn::ShiftRight<kPrecisionBits>(sum));
}

void weigh_block(const std::uint8_t* in, std::size_t channels, const std::int32_t* weights, std::size_t taps,
                 std::uint8_t* out, std::ptrdiff_t out_stride) {
  const Ints d;
  const auto half = hn::Set(d, 1 << (kPrecisionBits - 1));
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t r = 0; r < kBlock; r += hn::Lanes(d)) {
      auto sum = half;
      const std::uint8_t* pixel = in + c * kBlock + r;
      for (std::size_t t = 0; t < taps; ++t, pixel += channels * kBlock) {
        sum = hn::Add(sum, hn::Mul(hn::PromoteTo(d, hn::LoadU(IntBytes(), pixel)), hn::Set(d, weights[t])));
      }
      hn::StoreU(rounded(sum), IntBytes(), out + static_cast<std::ptrdiff_t>(c) * out_stride + r);
    }
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
  auto vector = [&](const std::uint8_t* at) HWY_ATTR {
    return affine(i, hn::ConvertTo(Floats(), hn::PromoteTo(d, hn::LoadU(IntBytes(), at))));
  };
  for (; i + lanes <= count; i += lanes) store(i, lanes, vector(pixels + i));
  if (i == count) return;
  std::uint8_t tail[16] = {};
  std::memcpy(tail, pixels + i, count - i);
  store(i, count - i, vector(tail));
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

void weigh_block(const std::uint8_t* in, std::size_t channels, const std::int32_t* weights, std::size_t taps,
                 std::uint8_t* out, std::ptrdiff_t out_stride) {
  HWY_DYNAMIC_DISPATCH(weigh_block)(in, channels, weights, taps, out, out_stride);
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
