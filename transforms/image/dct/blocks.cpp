// Highway compiles this file once for each SIMD level (see pixel_rows.cpp).
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/dct/blocks.cpp"
#include <bit>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/dct/blocks.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes16 = hn::FixedTag<std::uint8_t, 16>;

/// For each mask of 8 places: the index of the input byte for each place, or 0x80 if the place stays zero. The input
/// begins at byte `first`.
struct Places {
  alignas(8) std::uint8_t of[256][8];
  constexpr explicit Places(std::uint8_t first) : of() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      std::uint8_t byte = first;
      for (unsigned place = 0; place < 8; ++place) {
        const bool used = (mask >> place & 1U) != 0;
        of[mask][place] = used ? byte : 0x80;
        byte = static_cast<std::uint8_t>(byte + used);
      }
    }
  }
};
constexpr Places kPlaces(0), kUpperPlaces(8);

/// Returns 8 bytes: those of `from` in order at the places of the mask, zeros elsewhere. Reads 8 bytes.
HWY_INLINE HWY_ATTR hn::Vec<hn::FixedTag<std::uint8_t, 8>> placed(unsigned mask, const void* from) {
  const hn::FixedTag<std::uint8_t, 8> d;
  return hn::TableLookupBytesOr0(hn::LoadU(d, static_cast<const std::uint8_t*>(from)), hn::Load(d, kPlaces.of[mask]));
}

void count_bits(const std::uint8_t* bytes, std::size_t size, std::size_t* counts) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto v = hn::LoadU(d, bytes + i);
    for (std::size_t r = 0; r < 8; ++r)
      counts[r] += hn::CountTrue(d, hn::TestBit(v, hn::Set(d, static_cast<std::uint8_t>(1U << r))));
  }
  for (; i < size; ++i)
    for (std::size_t r = 0; r < 8; ++r) counts[r] += bytes[i] >> r & 1U;
}

void count_values(const std::uint64_t* masks, std::size_t blocks, std::size_t* counts) {
  std::size_t first = 0, all = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    first += static_cast<std::size_t>(std::popcount(masks[i] & 0xFF));
    all += static_cast<std::size_t>(std::popcount(masks[i]));
  }
  counts[0] = first;
  counts[1] = all - first;
}

std::size_t count_escapes(const std::int8_t* values, std::size_t count) {
  const hn::CappedTag<std::int8_t, 64> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto escape = hn::Set(d, kEscape);
  std::size_t i = 0, found = 0;
  for (; i + lanes <= count; i += lanes) found += hn::CountTrue(d, hn::Eq(hn::LoadU(d, values + i), escape));
  for (; i < count; ++i) found += values[i] == kEscape;
  return found;
}

/// Transposes masks[0..16) from 8 planes of 16 bytes: byte r of mask i is byte i of plane r.
HWY_INLINE HWY_ATTR void turn(const std::uint8_t (*planes)[64], std::size_t at, std::uint64_t* masks) {
  const Bytes16 d;
  const hn::Repartition<std::uint16_t, Bytes16> d16;
  const hn::Repartition<std::uint32_t, Bytes16> d32;
  const hn::Repartition<std::uint64_t, Bytes16> d64;
  for (std::size_t half = 0; half < 2; ++half) {
    auto pair = [&](std::size_t r) HWY_ATTR {
      const auto a = hn::LoadU(d, planes[r] + at), b = hn::LoadU(d, planes[r + 1] + at);
      return hn::BitCast(d16, half == 0 ? hn::InterleaveLower(d, a, b) : hn::InterleaveUpper(d, a, b));
    };
    const auto r01 = pair(0), r23 = pair(2), r45 = pair(4), r67 = pair(6);
    const auto low03 = hn::BitCast(d32, hn::InterleaveLower(d16, r01, r23));
    const auto high03 = hn::BitCast(d32, hn::InterleaveUpper(d16, r01, r23));
    const auto low47 = hn::BitCast(d32, hn::InterleaveLower(d16, r45, r67));
    const auto high47 = hn::BitCast(d32, hn::InterleaveUpper(d16, r45, r67));
    std::uint64_t* to = masks + half * 8;
    hn::StoreU(hn::BitCast(d64, hn::InterleaveLower(d32, low03, low47)), d64, to);
    hn::StoreU(hn::BitCast(d64, hn::InterleaveUpper(d32, low03, low47)), d64, to + 2);
    hn::StoreU(hn::BitCast(d64, hn::InterleaveLower(d32, high03, high47)), d64, to + 4);
    hn::StoreU(hn::BitCast(d64, hn::InterleaveUpper(d32, high03, high47)), d64, to + 6);
  }
}

/// Fills one plane: for each of 64 blocks, the next byte of the stream if bit r of the block's rows is set, else zero.
HWY_INLINE HWY_ATTR void place_rows(const std::uint8_t* rows, unsigned r, std::uint64_t within,
                                    const std::uint8_t*& stream, std::uint8_t* plane) {
#if HWY_TARGET == HWY_AVX3_DL
  const __m512i bit = _mm512_set1_epi8(static_cast<char>(1U << r));
  const std::uint64_t used = _mm512_test_epi8_mask(_mm512_loadu_si512(rows), bit) & within;
  _mm512_storeu_si512(plane, _mm512_maskz_expand_epi8(used, _mm512_loadu_si512(stream)));
  stream += std::popcount(used);
#else
  for (std::size_t i = 0; i < 64; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, rows + i, 8);
    // Gathers bit r of eight bytes in one byte: the product moves the bit of byte i to bit 56 + i.
    const std::uint64_t bits = (eight >> r & 0x0101010101010101U) * 0x0102040810204080U >> 56;
    const auto used = static_cast<unsigned>(bits & (within >> i));
    hn::StoreU(placed(used, stream), hn::FixedTag<std::uint8_t, 8>(), plane + i);
    stream += std::popcount(used);
  }
#endif
}

void merge_masks(const std::uint8_t* rows, std::size_t count, const std::uint8_t* const* streams,
                 std::uint64_t* masks) {
  const std::uint8_t* next[8];
  std::memcpy(next, streams, sizeof next);
  for (std::size_t i = 0; i < count; i += 64) {
    const std::size_t here = count - i < 64 ? count - i : 64;
    const std::uint64_t within = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    alignas(64) std::uint8_t planes[8][64];
    for (unsigned r = 0; r < 8; ++r) place_rows(rows + i, r, within, next[r], planes[r]);
    for (std::size_t at = 0; at < here; at += 16) turn(planes, at, masks + i + at);
  }
}

#if HWY_TARGET == HWY_AVX3_DL

/// For each place in rows of eight: the place in zigzag order.
struct Zigzag {
  alignas(64) std::uint8_t of[kBlockSize];
  constexpr Zigzag() : of() {
    for (std::size_t k = 0; k < kBlockSize; ++k) of[kNatural[k]] = static_cast<std::uint8_t>(k);
  }
};
constexpr Zigzag kZigzag;

/// Writes a block except the values of escapes. Returns a mask of the zigzag places of escapes.
HWY_INLINE HWY_ATTR std::uint64_t expand_block(std::uint64_t mask, const std::int16_t* steps, Values& values,
                                               std::int16_t* out) {
  const std::uint64_t low = mask & 0xFF, high = mask & ~std::uint64_t{0xFF};
  const __m512i first = _mm512_maskz_expand_epi8(
      low, _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values.first))));
  const __m512i rest = _mm512_maskz_expand_epi8(high, _mm512_loadu_si512(values.rest));
  values.first += std::popcount(low);
  values.rest += std::popcount(high);
  const __m512i zigzag = _mm512_or_si512(first, rest);
  const __m512i bytes = _mm512_permutexvar_epi8(_mm512_load_si512(kZigzag.of), zigzag);
  const __m512i a = _mm512_cvtepi8_epi16(_mm512_castsi512_si256(bytes));
  const __m512i b = _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(bytes, 1));
  _mm512_storeu_si512(out, _mm512_mullo_epi16(a, _mm512_loadu_si512(steps)));
  _mm512_storeu_si512(out + 32, _mm512_mullo_epi16(b, _mm512_loadu_si512(steps + 32)));
  return _mm512_cmpeq_epi8_mask(zigzag, _mm512_set1_epi8(kEscape));
}

#else

using Part = hn::CappedTag<std::uint8_t, 32>;  // two or four rows of a block
constexpr std::size_t kPartSize = hn::MaxLanes(Part()), kParts = kBlockSize / kPartSize;

/// For each part of the block and each 16 bytes of the zigzag order: byte indexes, or 0x80 for bytes that are not among
/// them.
struct Sources {
  alignas(64) std::uint8_t of[kParts][4][kPartSize];
  constexpr Sources() : of() {
    for (auto& part : of)
      for (auto& sixteen : part)
        for (std::uint8_t& byte : sixteen) byte = 0x80;
    for (std::size_t k = 0; k < kBlockSize; ++k) {
      const std::size_t place = kNatural[k];
      of[place / kPartSize][k / 16][place % kPartSize] = static_cast<std::uint8_t>(k % 16);
    }
  }
};
constexpr Sources kSources;

/// Returns the values of two rows with these masks, each from its own address. Reads 8 bytes at each.
HWY_INLINE HWY_ATTR hn::Vec<Bytes16> two_rows(std::uint64_t lower, const void* of_lower, std::uint64_t upper,
                                              const void* of_upper) {
  const Bytes16 d;
  const hn::Half<Bytes16> half;
  auto both = [&](const void* a, const void* b) HWY_ATTR {
    return hn::Combine(d, hn::LoadU(half, static_cast<const std::uint8_t*>(b)),
                       hn::LoadU(half, static_cast<const std::uint8_t*>(a)));
  };
  return hn::TableLookupBytesOr0(both(of_lower, of_upper),
                                 both(kPlaces.of[lower & 0xFF], kUpperPlaces.of[upper & 0xFF]));
}

/// The 64 values of a block, as bytes in zigzag order.
struct InOrder {
  hn::Vec<Bytes16> a, b, c, d;
};

/// Advances `values` past the block.
HWY_INLINE HWY_ATTR InOrder place_values(std::uint64_t mask, Values& values) {
  // The number of values of each row, in a byte each. Source: H. Warren, "Hacker's Delight" (2012), 5-1.
  std::uint64_t counts = mask - (mask >> 1 & 0x5555555555555555U);
  counts = (counts & 0x3333333333333333U) + (counts >> 2 & 0x3333333333333333U);
  counts = (counts + (counts >> 4)) & 0x0F0F0F0F0F0F0F0FU;
  const std::uint64_t ends = (counts & ~std::uint64_t{0xFF}) * 0x0101010101010101U;  // byte r: of rows 1 to r
  const std::int8_t* const rest = values.rest;
  InOrder zigzag;
  zigzag.a = two_rows(mask, values.first, mask >> 8, rest);
  zigzag.b = two_rows(mask >> 16, rest + (ends >> 8 & 0xFF), mask >> 24, rest + (ends >> 16 & 0xFF));
  zigzag.c = two_rows(mask >> 32, rest + (ends >> 24 & 0xFF), mask >> 40, rest + (ends >> 32 & 0xFF));
  zigzag.d = two_rows(mask >> 48, rest + (ends >> 40 & 0xFF), mask >> 56, rest + (ends >> 48 & 0xFF));
  values.first += counts & 0xFF;
  values.rest += ends >> 56;
  return zigzag;
}

/// Returns 16 bytes once or twice.
HWY_INLINE HWY_ATTR hn::Vec<Part> repeated(hn::Vec<Bytes16> v) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Combine(Part(), v, v);
#else
  return v;
#endif
}

HWY_INLINE HWY_ATTR std::uint64_t expand_block(std::uint64_t mask, const std::int16_t* steps, Values& values,
                                               std::int16_t* out) {
  const InOrder zigzag = place_values(mask, values);
  const Part d;
  const hn::RebindToSigned<Part> d8;
  const hn::Half<decltype(d8)> half;
  const hn::RepartitionToWide<decltype(d8)> d16;
  const auto a = repeated(zigzag.a), b = repeated(zigzag.b), c = repeated(zigzag.c), e = repeated(zigzag.d);
  auto escapes = hn::Zero(d8);
  for (std::size_t i = 0; i < kParts; ++i) {
    auto from = [&](auto v, std::size_t sixteen)
                    HWY_ATTR { return hn::TableLookupBytesOr0(v, hn::Load(d, kSources.of[i][sixteen])); };
    const auto bytes = hn::BitCast(d8, hn::Or(hn::Or(from(a, 0), from(b, 1)), hn::Or(from(c, 2), from(e, 3))));
    escapes = hn::Or(escapes, hn::VecFromMask(d8, hn::Eq(bytes, hn::Set(d8, kEscape))));
    const std::int16_t* factors = steps + kPartSize * i;
    std::int16_t* to = out + kPartSize * i;
    const auto lower = hn::PromoteTo(d16, hn::LowerHalf(half, bytes)),
               upper = hn::PromoteTo(d16, hn::UpperHalf(half, bytes));
    hn::StoreU(hn::Mul(lower, hn::LoadU(d16, factors)), d16, to);
    hn::StoreU(hn::Mul(upper, hn::LoadU(d16, factors + kPartSize / 2)), d16, to + kPartSize / 2);
  }
  if (hn::AllTrue(d8, hn::Eq(escapes, hn::Zero(d8)))) [[likely]]
    return 0;
  alignas(16) std::int8_t bytes[kBlockSize];
  const hn::RebindToSigned<Bytes16> ds;
  hn::Store(hn::BitCast(ds, zigzag.a), ds, bytes);
  hn::Store(hn::BitCast(ds, zigzag.b), ds, bytes + 16);
  hn::Store(hn::BitCast(ds, zigzag.c), ds, bytes + 32);
  hn::Store(hn::BitCast(ds, zigzag.d), ds, bytes + 48);
  std::uint64_t found = 0;
  for (std::size_t k = 0; k < kBlockSize; ++k) found |= std::uint64_t{bytes[k] == kEscape} << k;
  return found;
}

#endif

std::int16_t product(std::int16_t value, std::int16_t step) {
  const auto bits = static_cast<std::uint32_t>(std::int32_t{value} * step);
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(bits & 0xFFFF));
}

void expand(const std::uint64_t* masks, const std::int16_t* dc, std::size_t blocks, const std::int16_t* steps,
            Values& values, std::int16_t* coefficients) {
  for (std::size_t i = 0; i < blocks; ++i, coefficients += kBlockSize) {
    std::uint64_t escaped = expand_block(masks[i], steps, values, coefficients);
    for (; escaped != 0; escaped &= escaped - 1) {
      const std::size_t place = kNatural[static_cast<std::size_t>(std::countr_zero(escaped))];
      std::int16_t value;
      std::memcpy(&value, values.escapes, 2);
      values.escapes += 2;
      coefficients[place] = product(value, steps[place]);
    }
    coefficients[0] = product(dc[i], steps[0]);
  }
}

}  // namespace
}  // namespace penstock::jpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::jpt {

HWY_EXPORT(count_bits);
HWY_EXPORT(count_escapes);
HWY_EXPORT(count_values);
HWY_EXPORT(merge_masks);
HWY_EXPORT(expand);

void count_bits(std::span<const std::uint8_t> bytes, std::array<std::size_t, 8>& counts) {
  counts.fill(0);
  HWY_DYNAMIC_DISPATCH(count_bits)(bytes.data(), bytes.size(), counts.data());
}

std::size_t count_escapes(const std::int8_t* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(count_escapes)(values, count);
}

void merge_masks(std::span<const std::uint8_t> rows, const std::array<const std::uint8_t*, 8>& streams,
                 std::uint64_t* masks) {
  HWY_DYNAMIC_DISPATCH(merge_masks)(rows.data(), rows.size(), streams.data(), masks);
}

void expand(const std::uint64_t* masks, const std::int16_t* dc, std::size_t blocks,
            const std::array<std::int16_t, 64>& quantisation, Values& values, std::int16_t* coefficients) {
  HWY_DYNAMIC_DISPATCH(expand)(masks, dc, blocks, quantisation.data(), values, coefficients);
}

std::array<std::size_t, 2> count_values(const std::uint64_t* masks, std::size_t blocks) {
  std::array<std::size_t, 2> counts;
  HWY_DYNAMIC_DISPATCH(count_values)(masks, blocks, counts.data());
  return counts;
}

void skip(const std::uint64_t* masks, std::size_t blocks, bool escaped, Values& values) {
  const auto [first, rest] = count_values(masks, blocks);
  // Escapes follow the order of the blocks, so only their number is needed to skip them.
  if (escaped) values.escapes += 2 * (count_escapes(values.first, first) + count_escapes(values.rest, rest));
  values.first += first;
  values.rest += rest;
}

}  // namespace penstock::jpt
#endif  // HWY_ONCE
