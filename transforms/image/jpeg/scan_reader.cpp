// Highway compiles this file once for each SIMD level (see pixel_rows.cpp). The entropy decoder gains the shift
// instructions of newer processors.
#ifndef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transforms/image/jpeg/scan_reader.cpp"
#include <bit>
#include <cstring>

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

/// Stores the coefficients of a wanted block.
struct Kept {
  std::int16_t* block;

  HWY_INLINE HWY_ATTR void keep(std::uint64_t place, std::int64_t value) const {
    block[kPlaces[place - 1]] = static_cast<std::int16_t>(value);
  }
};
struct Skipped {
  HWY_INLINE HWY_ATTR void keep(std::uint64_t, std::int64_t) const {}
};

/// Position inside a block.
struct Progress {
  std::uint64_t place = 1;  ///< next place; 64 or more: the block has ended
  std::uint64_t first = 1;  ///< place after the first of the last two coefficients
  bool valid = true;
};

/// Reads one or two coefficients. Returns true at the end of the block (place >= 64). refill() runs between the look-up
/// and its use, so that each look-up waits only for the one before it.
template <class Sink>
HWY_INLINE HWY_ATTR bool read_pair(Bits& bits, const CoefficientTable& table, Progress& progress, const Sink& sink) {
  const CoefficientPair pair = table.pair(bits.bits);
  bits.refill();
  if (pair == 0) [[unlikely]] {
    const HuffmanEntry entry = table.codes().at(bits.bits);
    progress.valid = entry != 0;
    progress.place += entry != 0 ? entry >> 24 : kBlockEnd;
    progress.first = progress.place;
    sink.keep(progress.place, number_behind(entry, bits.bits));
    bits.skip(entry);
    return progress.place >= 64;
  }
  const std::uint64_t first = progress.place + (pair >> 8 & 255), second = progress.place + (pair >> 16 & 255);
  // If the pair has only one coefficient, both have the same place. The first must be stored last, to replace the zero.
  sink.keep(second, second_coefficient(pair));
  sink.keep(first, first_coefficient(pair, bits.bits));
  progress.place = second;
  if (second >= 64) {
    progress.first = first;
    // The first coefficient was the last of this block. The second code belongs to the next block.
    if (first == 64) {
      bits.skip(first_bits(pair));
      progress.place = 64;
      return true;
    }
  }
  bits.skip(pair);
  return second >= 64;
}

template <class Sink>
HWY_INLINE HWY_ATTR bool read_ac(Bits& bits, const CoefficientTable& table, const Sink& sink) {
  Progress progress;
  while (!read_pair(bits, table, progress, sink)) {
  }
  // A valid block ends after its 64th coefficient or with an end-of-block code. Coefficients after the 64th mean
  // damage.
  return progress.valid && (progress.place == 64 || progress.place > kBlockEnd) &&
         (progress.first < 65 || progress.first > kBlockEnd);
}

HWY_INLINE HWY_ATTR bool read_block(Bits& bits, const ScanComponent& component, std::int32_t& dc, std::int16_t* block) {
  std::memset(block, 0, 64 * sizeof(*block));
  if (!read_dc(bits, *component.dc, dc)) return false;
  block[0] = static_cast<std::int16_t>(dc);
  return read_ac(bits, *component.ac, Kept{block});
}

HWY_INLINE HWY_ATTR bool skip_block(Bits& bits, const ScanComponent& component, std::int32_t& dc) {
  return read_dc(bits, *component.dc, dc) && read_ac(bits, *component.ac, Skipped());
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

bool dequantise(std::int16_t* blocks, std::size_t count, const std::uint16_t* factors) {
  const hn::FixedTag<std::int16_t, 8> d;  // one row of a block
  const hn::RebindToUnsigned<decltype(d)> du;
  auto outside = hn::Zero(d), most = hn::Zero(d);
  for (std::size_t i = 0; i < count; ++i) {
    auto sums = hn::Zero(d);
    for (std::size_t k = 0; k < 64; k += 8) {
      const auto factor = hn::BitCast(d, hn::LoadU(du, factors + k));
      std::int16_t* const at = blocks + 64 * i + k;
      const auto value = hn::LoadU(d, at);
      const auto low = hn::Mul(value, factor);
      // A product has more than 16 bits if its high half is not the sign of its low half.
      outside = hn::Or(outside, hn::Xor(hn::MulHigh(value, factor), hn::ShiftRight<15>(low)));
      sums = hn::SaturatedAdd(sums, hn::Abs(low));
      hn::StoreU(low, d, at);
      // A sum that contains |-32768| is negative. Read as unsigned, it is above 32767, so the minimum exceeds
      // kMostColumn.
    }
    most = hn::Max(most, hn::BitCast(d, hn::Min(hn::BitCast(du, sums), hn::Set(du, 32767))));
  }
  return hn::AllTrue(d, hn::Eq(outside, hn::Zero(d))) && hn::AllFalse(d, hn::Gt(most, hn::Set(d, kMostColumn)));
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
