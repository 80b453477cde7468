// Code that idct.cpp and idct_reduced.cpp share, for the SIMD level being compiled.
//
// Each 128-bit part of a vector holds a row of one block. Interleaving and narrowing work within these parts, so blocks
// never mix.
#if defined(PENSTOCK_JPT_IDCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PENSTOCK_JPT_IDCT_INL
#undef PENSTOCK_JPT_IDCT_INL
#else
#define PENSTOCK_JPT_IDCT_INL
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::int16_t, 32>;  // 8 columns of one, two or four blocks
using Ints = hn::RepartitionToWide<Words>;
using Bytes = hn::Repartition<std::uint8_t, Words>;
using V = hn::Vec<Words>;
using W = hn::Vec<Ints>;

constexpr int kConstBits = 13;  ///< fractional bits of the constants
constexpr int kPass1Bits = 2;   ///< fractional bits kept between the passes

constexpr std::int16_t fixed(double value) {
  return static_cast<std::int16_t>(value * (1 << kConstBits) + (value < 0 ? -0.5 : 0.5));
}

/// Returns a[2i] * b[2i] + a[2i+1] * b[2i+1].
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

/// Two rows with alternating columns, in two halves: the input of products().
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

/// Returns x * a + y * b for the two rows x, y.
HWY_INLINE HWY_ATTR Wide weighed(Two rows, std::int16_t a, std::int16_t b) {
  const Ints d;
  const auto both = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(a)) |
                                              static_cast<std::uint32_t>(static_cast<std::uint16_t>(b)) << 16);
  const V weights = hn::BitCast(Words(), hn::Set(d, both));
  return {products(rows.lower, weights), products(rows.upper, weights)};
}

template <int kShift>
// Narrows to 16 bits with saturation, as packssdw does in libjpeg-turbo's SIMD code.
HWY_INLINE HWY_ATTR V narrowed(Wide sums) {
  return hn::ReorderDemote2To(Words(), hn::ShiftRight<kShift>(sums.lower), hn::ShiftRight<kShift>(sums.upper));
}

// In fuzzing builds the passes are not inlined. With two passes of the portable level in one function, clang needs
// minutes for the sanitizers' code.
#undef PENSTOCK_PASS
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PENSTOCK_PASS HWY_NOINLINE
#else
#define PENSTOCK_PASS HWY_INLINE
#endif

/// Pairs rows 0 4, 1 5, 2 6, 3 7. The fold keeps the rows in registers, because compilers unroll few loops at -O2.
template <std::size_t... kRow>
HWY_INLINE HWY_ATTR void pair_rows(const V* in, V* out, std::index_sequence<kRow...>) {
  const Words d;
  ((out[2 * kRow] = hn::InterleaveLower(d, in[kRow], in[kRow + 4]),
    out[2 * kRow + 1] = hn::InterleaveUpper(d, in[kRow], in[kRow + 4])),
   ...);
}

/// Transposes each block.
HWY_INLINE HWY_ATTR void transpose(V* rows) {
  V a[8], b[8];
  pair_rows(rows, a, std::make_index_sequence<4>());
  pair_rows(a, b, std::make_index_sequence<4>());
  pair_rows(b, rows, std::make_index_sequence<4>());
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

constexpr std::size_t kLoadedRows = 4;  ///< of a block, in a vector that is loaded

HWY_INLINE HWY_ATTR void load_rows(const std::int16_t* from, V* rows) {
  const Words d;
  const __m512i a = hn::LoadU(d, from).raw, b = hn::LoadU(d, from + 64).raw;
  const __m512i c = hn::LoadU(d, from + 128).raw, e = hn::LoadU(d, from + 192).raw;
  const __m512i ab01 = _mm512_shuffle_i32x4(a, b, 0x44), ab23 = _mm512_shuffle_i32x4(a, b, 0xEE);
  const __m512i ce01 = _mm512_shuffle_i32x4(c, e, 0x44), ce23 = _mm512_shuffle_i32x4(c, e, 0xEE);
  rows[0] = V{_mm512_shuffle_i32x4(ab01, ce01, 0x88)};
  rows[1] = V{_mm512_shuffle_i32x4(ab01, ce01, 0xDD)};
  rows[2] = V{_mm512_shuffle_i32x4(ab23, ce23, 0x88)};
  rows[3] = V{_mm512_shuffle_i32x4(ab23, ce23, 0xDD)};
}

#elif HWY_TARGET == HWY_AVX2

constexpr std::size_t kLoadedRows = 2;

HWY_INLINE HWY_ATTR void load_rows(const std::int16_t* from, V* rows) {
  const Words d;
  const V a = hn::LoadU(d, from), b = hn::LoadU(d, from + 64);
  rows[0] = hn::ConcatLowerLower(d, b, a);
  rows[1] = hn::ConcatUpperUpper(d, b, a);
}

#else

constexpr std::size_t kLoadedRows = 1;

HWY_INLINE HWY_ATTR void load_rows(const std::int16_t* from, V* rows) {
  rows[0] = hn::LoadU(Words(), from);
}

#endif

template <std::size_t... kPart>
HWY_INLINE HWY_ATTR void load_parts(const std::int16_t* blocks, V* rows, std::index_sequence<kPart...>) {
  (load_rows(blocks + 8 * kLoadedRows * kPart, rows + kLoadedRows * kPart), ...);
}

/// Loads the rows of as many blocks as a vector holds.
HWY_INLINE HWY_ATTR void load(const std::int16_t* blocks, V* rows) {
  load_parts(blocks, rows, std::make_index_sequence<8 / kLoadedRows>());
}

/// Converts two columns to bytes, with saturation. Each 16 bytes hold 8 of the first column and 8 of the second.
HWY_INLINE HWY_ATTR hn::Vec<Bytes> limited(V a, V b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const hn::Vec<Bytes> packed{_mm512_packs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  const hn::Vec<Bytes> packed{_mm256_packs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  const hn::Vec<Bytes> packed{_mm_packs_epi16(a.raw, b.raw)};
#else
  const hn::Half<hn::Repartition<std::int8_t, Words> > half;
  const auto packed = hn::BitCast(
      Bytes(), hn::Combine(hn::Repartition<std::int8_t, Words>(), hn::DemoteTo(half, b), hn::DemoteTo(half, a)));
#endif
  return hn::Xor(packed, hn::Set(Bytes(), 0x80));  // + 128
}

}  // namespace
}  // namespace penstock::jpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
