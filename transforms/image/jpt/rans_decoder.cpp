// Highway compiles this file once for each SIMD level (see pixel_rows.cpp).
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/jpt/rans_decoder.cpp"
#include <algorithm>
#include <bit>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/jpt/rans.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpt::HWY_NAMESPACE {
namespace {

static_assert(kLanes == 64);  // masks have a bit for each lane

/// Decodes one symbol in each of the first `lanes` lanes, checking the end of the bytes before every read.
bool careful_step(RansDecoder& decoder, const SlotTable& slots, std::size_t lanes, std::uint8_t* out) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint32_t x = decoder.states[lane];
    const std::uint32_t entry = slots[x & (kProbabilityTotal - 1)];
    x = (entry >> 8 & 0xFFF) * (x >> kProbabilityBits) + (entry >> 20);
    if (x < kFirstState) {
      if (decoder.end - decoder.next < 2) return false;
      std::uint16_t word;
      std::memcpy(&word, decoder.next, 2);
      decoder.next += 2;
      x = x << 16 | word;
    }
    decoder.states[lane] = x;
    out[lane] = static_cast<std::uint8_t>(entry & 0xFF);
  }
  return true;
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

struct Lanes16 {
  __m512i x;

  HWY_INLINE HWY_ATTR void step(const SlotTable& slots, __mmask16 active, const std::byte*& next, std::uint8_t* out) {
    const __m512i slot = _mm512_and_si512(x, _mm512_set1_epi32(kProbabilityTotal - 1));
    const __m512i entry = _mm512_i32gather_epi32(slot, slots.data(), 4);
    const __m512i frequency = _mm512_and_si512(_mm512_srli_epi32(entry, 8), _mm512_set1_epi32(0xFFF));
    const __m512i shared = _mm512_mullo_epi32(frequency, _mm512_srli_epi32(x, kProbabilityBits));
    const __m512i y = _mm512_add_epi32(shared, _mm512_srli_epi32(entry, 20));
    const __mmask16 low = _mm512_mask_cmplt_epu32_mask(active, y, _mm512_set1_epi32(kFirstState));
    const __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(next)));
    const __m512i placed = _mm512_maskz_expand_epi32(low, words);
    const __m512i z = _mm512_mask_or_epi32(y, low, _mm512_slli_epi32(y, 16), placed);
    x = _mm512_mask_mov_epi32(x, active, z);
    next += 2 * std::popcount(static_cast<unsigned>(low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(entry));
  }
};

struct AllLanes {
  Lanes16 lanes[kLanes / 16];

  HWY_INLINE HWY_ATTR explicit AllLanes(const RansDecoder& decoder) {
    for (std::size_t i = 0; i < kLanes / 16; ++i) lanes[i].x = _mm512_load_si512(decoder.states.data() + 16 * i);
  }
  HWY_INLINE HWY_ATTR void keep(RansDecoder& decoder) const {
    for (std::size_t i = 0; i < kLanes / 16; ++i) _mm512_store_si512(decoder.states.data() + 16 * i, lanes[i].x);
  }
  template <bool kAll>
  HWY_INLINE HWY_ATTR void step(const SlotTable& slots, std::uint64_t active, const std::byte*& next,
                                std::uint8_t* out) {
    for (std::size_t i = 0; i < kLanes / 16; ++i)
      lanes[i].step(slots, static_cast<__mmask16>(active >> (16 * i)), next, out + 16 * i);
  }
};
#define PENSTOCK_RANS_VECTORS 1

#elif HWY_TARGET == HWY_AVX2

/// For each mask of 8 lanes: index of the input word for each lane.
struct Places {
  alignas(8) std::uint8_t of[256][8];
  constexpr Places() : of() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      std::uint8_t word = 0;
      for (unsigned lane = 0; lane < 8; ++lane)
        if ((mask >> lane & 1U) != 0) of[mask][lane] = word++;
    }
  }
};
constexpr Places kPlaces;

/// Looks up eight slots. On Zen 4, a gather of 256 bits takes longer than these loads.
HWY_INLINE HWY_ATTR __m256i entries_of(const SlotTable& slots, __m256i slot) {
  alignas(32) std::uint32_t at[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(at), slot);
  const auto* entries = reinterpret_cast<const int*>(slots.data());
  return _mm256_setr_epi32(entries[at[0]], entries[at[1]], entries[at[2]], entries[at[3]], entries[at[4]],
                           entries[at[5]], entries[at[6]], entries[at[7]]);
}

struct Lanes8 {
  __m256i x;

  /// Advances the lanes in `active`: all of them if kAll.
  template <bool kAll>
  HWY_INLINE HWY_ATTR __m256i step(const SlotTable& slots, __m256i active, const std::byte*& next) {
    const __m256i slot = _mm256_and_si256(x, _mm256_set1_epi32(kProbabilityTotal - 1));
    const __m256i entry = entries_of(slots, slot);
    const __m256i frequency = _mm256_and_si256(_mm256_srli_epi32(entry, 8), _mm256_set1_epi32(0xFFF));
    const __m256i shared = _mm256_mullo_epi32(frequency, _mm256_srli_epi32(x, kProbabilityBits));
    const __m256i y = _mm256_add_epi32(shared, _mm256_srli_epi32(entry, 20));
    const __m256i below = _mm256_cmpeq_epi32(_mm256_srli_epi32(y, 16), _mm256_setzero_si256());
    const __m256i low = kAll ? below : _mm256_and_si256(below, active);
    const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(low)));
    const __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(next)));
    const __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces.of[mask])));
    const __m256i placed = _mm256_permutevar8x32_epi32(words, places);
    const __m256i z = _mm256_blendv_epi8(y, _mm256_or_si256(_mm256_slli_epi32(y, 16), placed), low);
    x = kAll ? z : _mm256_blendv_epi8(x, z, active);
    next += 2 * std::popcount(mask);
    return _mm256_and_si256(entry, _mm256_set1_epi32(0xFF));
  }
};

struct AllLanes {
  Lanes8 lanes[kLanes / 8];

  HWY_INLINE HWY_ATTR explicit AllLanes(const RansDecoder& decoder) {
    for (std::size_t i = 0; i < kLanes / 8; ++i)
      lanes[i].x = _mm256_load_si256(reinterpret_cast<const __m256i*>(decoder.states.data() + 8 * i));
  }
  HWY_INLINE HWY_ATTR void keep(RansDecoder& decoder) const {
    for (std::size_t i = 0; i < kLanes / 8; ++i)
      _mm256_store_si256(reinterpret_cast<__m256i*>(decoder.states.data() + 8 * i), lanes[i].x);
  }
  template <bool kAll>
  HWY_INLINE HWY_ATTR void step(const SlotTable& slots, std::uint64_t active, const std::byte*& next,
                                std::uint8_t* out) {
    for (std::size_t four = 0; four < kLanes / 8; four += 4) {
      const __m256i a = step_lanes<kAll>(slots, four, active, next);
      const __m256i b = step_lanes<kAll>(slots, four + 1, active, next);
      const __m256i c = step_lanes<kAll>(slots, four + 2, active, next);
      const __m256i d = step_lanes<kAll>(slots, four + 3, active, next);
      const __m256i ab = _mm256_packus_epi32(a, b), cd = _mm256_packus_epi32(c, d);
      const __m256i mixed = _mm256_packus_epi16(ab, cd);  // 4 symbols of a, b, c, d, then the other 4 of each
      const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8 * four), _mm256_permutevar8x32_epi32(mixed, order));
    }
  }
  template <bool kAll>
  HWY_INLINE HWY_ATTR __m256i step_lanes(const SlotTable& slots, std::size_t eight, std::uint64_t active,
                                         const std::byte*& next) {
    const __m256i bits = _mm256_set1_epi32(static_cast<int>(active >> (8 * eight) & 0xFF));
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return lanes[eight].step<kAll>(slots, _mm256_cmpeq_epi32(_mm256_and_si256(bits, each), each), next);
  }
};
#define PENSTOCK_RANS_VECTORS 1

#endif

bool decode(RansDecoder& decoder, const SlotTable& slots, std::size_t count, std::uint8_t* out) {
  std::size_t done = 0;
#ifdef PENSTOCK_RANS_VECTORS
#undef PENSTOCK_RANS_VECTORS
  constexpr std::size_t kWordsOfStep = 2 * kLanes;  // bytes that one step of all lanes reads at most
  if (count > 0 && decoder.end - decoder.next >= static_cast<std::ptrdiff_t>(kWordsOfStep)) {
    AllLanes lanes(decoder);
    const std::byte* next = decoder.next;
    const std::byte* last = decoder.end - kWordsOfStep;
    for (; done + kLanes <= count && next <= last; done += kLanes)
      lanes.step<true>(slots, ~std::uint64_t{0}, next, out + done);
    if (done < count && next <= last) {
      const std::size_t rest = std::min(count - done, kLanes);
      lanes.step<false>(slots, ~std::uint64_t{0} >> (64 - rest), next, out + done);
      done += rest;
    }
    lanes.keep(decoder);
    decoder.next = next;
  }
#endif
  for (; done < count; done += kLanes)
    if (!careful_step(decoder, slots, std::min(count - done, kLanes), out + done)) return false;
  return true;
}

}  // namespace
}  // namespace penstock::jpt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::jpt {

HWY_EXPORT(decode);

bool RansDecoder::begin(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof states) return false;
  std::memcpy(states.data(), bytes.data(), sizeof states);
  next = bytes.data() + sizeof states;
  end = bytes.data() + bytes.size();
  return true;
}

bool RansDecoder::decode(const SlotTable& slots, std::size_t count, std::uint8_t* out) {
  return HWY_DYNAMIC_DISPATCH(decode)(*this, slots, count, out);
}

}  // namespace penstock::jpt
#endif  // HWY_ONCE
