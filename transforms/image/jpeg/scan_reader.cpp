// Highway compiles this file once for each SIMD level (see pixel_rows.cpp). The entropy decoder gains the shift
// instructions of newer processors.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/jpeg/scan_reader.cpp"
#include <bit>
#include <cstring>
#include <utility>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/jpeg/scan_reader.hpp>

HWY_BEFORE_NAMESPACE();
namespace penstock::jpeg::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Limit for the sum of absolute dequantised coefficients in a column of a block. Between the passes of the inverse
/// DCT, libjpeg-turbo's SIMD code adds pairs of columns in 16 bits. The first pass multiplies a sum by at most 5.55.
/// Two columns of 2950 therefore stay within 16 bits, and all decoders agree. Columns of real pixels have sums of at
/// most 2896.
constexpr std::int16_t kMostColumn = 2950;
constexpr std::int32_t kMostDc = 1 << 15;  ///< limit for either sign

/// Reads the bits of a segment. The highest `count` bits of `bits` are valid; lower ones are correct or zero.
struct Bits {
  const std::uint8_t* next;
  std::uint64_t bits, count;

  /// Makes at least 56 bits valid, without a branch. A byte that was already loaded in part is loaded again, which does
  /// not change its bits. Source: F. Giesen, "Reading bits in far too many ways (part 2)", 2018, variant 4.
  HWY_INLINE HWY_ATTR void refill() {
    std::uint64_t more;
    std::memcpy(&more, next, sizeof(more));
    if constexpr (std::endian::native == std::endian::little) more = __builtin_bswap64(more);
    bits |= more >> count;
    next += (63 ^ count) >> 3;
    count |= 56;
  }
  /// Skips the number of bits in the lowest 6 bits of `entry`.
  HWY_INLINE HWY_ATTR void skip(std::uint64_t entry) {
    bits <<= entry & 63;
    count -= entry & 63;
  }
};

HWY_INLINE HWY_ATTR bool read_dc(Bits& bits, const HuffmanTable& table, std::int32_t& dc) {
  const HuffmanEntry entry = table.at(bits.bits);
  bits.refill();
  if (entry == 0) return false;
  dc += number_behind(entry, bits.bits);
  bits.skip(entry);
  return dc > -kMostDc && dc < kMostDc;
}

/// Maps a zigzag place minus 1 to the place in rows of eight. Places after the 64th, including the end of a block, map
/// to 64, so that keep() needs no branch. Element 64 belongs to the next block, which is cleared before it is read.
/// After the last block of a row it belongs to kBlockSlack.
constexpr auto kPlaces = [] {
  std::array<std::uint8_t, 64 + 16 + kBlockEnd> places{};
  places.fill(64);
  for (std::size_t k = 0; k < 64; ++k) places[k] = jpt::kNatural[k];
  return places;
}();

/// Position inside a block.
struct Progress {
  std::uint64_t place = 1;  ///< next place; 64 or more: the block has ended
  std::uint64_t first = 1;  ///< place after the first of the last two coefficients
  bool valid = true;

  /// A valid block ends after its 64th coefficient or with an end-of-block code. Coefficients after the 64th mean
  /// damage.
  HWY_INLINE bool ends_well() const {
    return valid && (place == 64 || place > kBlockEnd) && (first < 65 || first > kBlockEnd);
  }
};

/// Stores a coefficient if `block` is not null.
template <bool kStored>
HWY_INLINE HWY_ATTR void keep(std::int16_t* block, std::uint64_t place, std::int64_t value) {
  if constexpr (kStored) block[kPlaces[place - 1]] = static_cast<std::int16_t>(value);
}

/// Reads the coefficients of a look-up. Returns false if the block ends, or after a coefficient with a long code or 16
/// zeros.
template <bool kStored>
HWY_INLINE HWY_ATTR bool read_pair(CoefficientPair pair, Bits& bits, const CoefficientTable& table, Progress& progress,
                                   std::int16_t* block) {
  const std::uint64_t place = progress.place;
  if (pair == 0) [[unlikely]] {
    bits.refill();
    const HuffmanEntry entry = table.codes().at(bits.bits);
    progress.valid = entry != 0;
    progress.place = progress.first = place + (entry != 0 ? entry >> 24 : kBlockEnd);
    keep<kStored>(block, progress.place, number_behind(entry, bits.bits));
    bits.skip(entry);
    return false;
  }
  const std::uint64_t first = place + (pair >> 8 & 255), second = place + (pair >> 16 & 255);
  // If the pair has only one coefficient, both have the same place. The first must be stored last, to replace the zero.
  keep<kStored>(block, second, second_coefficient(pair));
  keep<kStored>(block, first, first_coefficient(pair, bits.bits));
  progress.place = second;
  if (second < 64) [[likely]] {
    bits.skip(pair);
    return true;
  }
  // If the first coefficient was the last of this block, the second code belongs to the next block.
  progress.first = first;
  if (first == 64) progress.place = 64;
  bits.skip(first == 64 ? first_bits(pair) : pair);
  return false;
}

/// Reads pairs until read_pair() returns false. A pair has at most 20 bits, so two of them leave enough bits for the
/// next look-up. The refill runs between a look-up and its use, so that the look-up does not wait for it.
template <bool kStored>
HWY_INLINE HWY_ATTR void read_pairs(Bits& bits, const CoefficientTable& table, Progress& progress,
                                    std::int16_t* block) {
  while (true) {
    const CoefficientPair pair = table.pair(bits.bits);
    bits.refill();
    if (!read_pair<kStored>(pair, bits, table, progress, block)) return;
    if (!read_pair<kStored>(table.pair(bits.bits), bits, table, progress, block)) return;
  }
}

/// Skips codes until one is long, or until the next look-up might leave the block. Returns true at an end-of-block
/// code.
HWY_INLINE HWY_ATTR bool skip_codes(Bits& bits, const CoefficientTable& table, std::uint64_t& place) {
  constexpr unsigned kAtOnce = (56 - 16) / CoefficientTable::kSkipBits;  // the next DC code may have 16 bits
  while (true) {
    bits.refill();
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const Skip skip = table.skip(bits.bits);
      const std::uint64_t next = place + advance_of_skip(skip);
      if (next >= 64) return false;
      place = next;
      bits.skip(skip);
      if (ends_block(skip)) return true;
    }
  }
}

HWY_INLINE HWY_ATTR bool read_block(Bits& bits, const ScanComponent& component, std::int32_t& dc, std::int16_t* block) {
  const hn::CappedTag<std::int16_t, 64> d;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) hn::StoreU(hn::Zero(d), d, block + i);
  if (!read_dc(bits, *component.dc, dc)) return false;
  block[0] = static_cast<std::int16_t>(dc);
  Progress progress;
  do read_pairs<true>(bits, *component.ac, progress, block);
  while (progress.place < 64);
  return progress.ends_well();
}

HWY_INLINE HWY_ATTR bool skip_block(Bits& bits, const ScanComponent& component, std::int32_t& dc) {
  if (!read_dc(bits, *component.dc, dc)) return false;
  Progress progress;
  do {
    if (skip_codes(bits, *component.ac, progress.place)) return true;
    read_pairs<false>(bits, *component.ac, progress, nullptr);
  } while (progress.place < 64);
  return progress.ends_well();
}

HWY_ATTR bool read_mcu(Bits& bits, std::span<const ScanComponent> components, std::size_t row, std::size_t column,
                       std::int32_t* dc) {
  for (std::size_t c = 0; c < components.size(); ++c) {
    const ScanComponent& component = components[c];
    const jpt::BlockRange& wanted = component.wanted;
    for (std::size_t i = 0; i < component.vertical; ++i) {
      // Unsigned arithmetic, so this is false for rows above the first wanted one too.
      const bool in_rows = row * component.vertical + i - wanted.y < wanted.height;
      std::int16_t* const blocks = component.coefficients + i * component.row_size;
      for (std::size_t j = 0; j < component.horizontal; ++j) {
        const std::size_t x = column * component.horizontal + j - wanted.x;
        const bool done = in_rows && x < wanted.width ? read_block(bits, component, dc[c], blocks + 64 * x)
                                                      : skip_block(bits, component, dc[c]);
        if (!done) return false;
      }
    }
  }
  return true;
}

bool read_mcus(ScanReader& reader, std::span<const ScanComponent> components, std::size_t row, std::size_t begin,
               std::size_t end) {
  Bits bits{reader.next, reader.bits, reader.count};
  bits.refill();
  for (std::size_t column = begin; column < end; ++column) {
    // One check per MCU is enough, because an MCU is shorter than the slack after the segment.
    if (bits.next > reader.end + sizeof(bits.bits)) return false;
    if (!read_mcu(bits, components, row, column, reader.dc.data())) return false;
  }
  reader.next = bits.next;
  reader.bits = bits.bits;
  reader.count = bits.count;
  return bits.next <= reader.end + bits.count / 8;
}

using Rows = hn::CappedTag<std::int16_t, 16>;  // one or two rows of a block
constexpr std::size_t kRowLanes = hn::MaxLanes(Rows());

using Sums = hn::RebindToUnsigned<Rows>;
using Row = hn::FixedTag<std::uint16_t, 8>;

/// Adds the sums of two rows if the vector has two.
HWY_INLINE HWY_ATTR hn::Vec<Row> column_sums(hn::Vec<Sums> sums) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const Row half;
  return hn::SaturatedAdd(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums));
#else
  return sums;
#endif
}

/// Multiplies all blocks. The fold keeps the factors in registers.
template <std::size_t... kPart>
HWY_INLINE HWY_ATTR bool dequantise_parts(std::int16_t* blocks, std::size_t count, const std::uint16_t* factors,
                                          std::index_sequence<kPart...>) {
  const Rows d;
  const Sums du;
  const hn::Vec<Rows> factor[] = {hn::BitCast(d, hn::LoadU(du, factors + kPart * kRowLanes))...};
  auto outside = hn::Zero(d);
  auto most = hn::Zero(Row());
  for (std::int16_t* const end = blocks + 64 * count; blocks != end; blocks += 64) {
    const hn::Vec<Rows> value[] = {hn::LoadU(d, blocks + kPart * kRowLanes)...};
    const hn::Vec<Rows> low[] = {hn::Mul(value[kPart], factor[kPart])...};
    // A product has more than 16 bits if its high half is not the sign of its low half.
    ((outside = hn::Or(outside, hn::Xor(hn::MulHigh(value[kPart], factor[kPart]), hn::ShiftRight<15>(low[kPart])))),
     ...);
    auto sums = hn::Zero(du);
    ((sums = hn::SaturatedAdd(sums, hn::BitCast(du, hn::Abs(low[kPart])))), ...);  // unsigned: |-32768| is 32768
    (hn::StoreU(low[kPart], d, blocks + kPart * kRowLanes), ...);
    most = hn::Max(most, column_sums(sums));
  }
  const hn::RebindToSigned<Row> ds;
  const auto limited = hn::BitCast(ds, hn::Min(most, hn::Set(Row(), 32767)));
  return hn::AllTrue(d, hn::Eq(outside, hn::Zero(d))) && hn::AllFalse(ds, hn::Gt(limited, hn::Set(ds, kMostColumn)));
}

bool dequantise(std::int16_t* blocks, std::size_t count, const std::uint16_t* factors) {
  return dequantise_parts(blocks, count, factors, std::make_index_sequence<64 / kRowLanes>());
}

}  // namespace
}  // namespace penstock::jpeg::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::jpeg {

HWY_EXPORT(dequantise);
HWY_EXPORT(read_mcus);

bool dequantise(std::int16_t* blocks, std::size_t count, const std::array<std::uint16_t, 64>& factors) {
  return HWY_DYNAMIC_DISPATCH(dequantise)(blocks, count, factors.data());
}

void ScanReader::begin(std::span<const std::uint8_t> segment) {
  next = segment.data();
  end = next + segment.size();
  bits = count = 0;
  dc = {};
}

bool ScanReader::read(std::span<const ScanComponent> components, std::size_t row, std::size_t first, std::size_t last) {
  return HWY_DYNAMIC_DISPATCH(read_mcus)(*this, components, row, first, last);
}

}  // namespace penstock::jpeg
#endif  // HWY_ONCE
