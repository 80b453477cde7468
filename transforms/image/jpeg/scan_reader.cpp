// Highway compiles this file once for each SIMD level (see pixel_rows.cpp): here for the shifts of newer processors.
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

/// Sums of a block's columns, without signs. Where they are no more, nothing that an inverse DCT adds up between its
/// passes, of two columns at 5.6 times their sums at most, leaves 16 bits; those of real pixels are no more than 2896.
constexpr std::int16_t kMostColumn = 2950;
constexpr std::int32_t kMostDc = 1 << 15;  ///< of either sign

/// The bits of a segment.
struct Bits {
  const std::uint8_t* next;
  std::uint64_t bits, count;

  /// At least 56 bits from here on.
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

/// Zigzag place - 1 -> place in rows of eight; behind the 64th, one that does not count.
constexpr auto kPlaces = [] {
  std::array<std::uint8_t, 64 + 16 + kBlockEnd> places{};
  places.fill(64);
  for (std::size_t k = 0; k < 64; ++k) places[k] = jpt::kNatural[k];
  return places;
}();

/// Where the coefficients of a block go.
struct Kept {
  std::int16_t* block;

  HWY_INLINE HWY_ATTR void keep(std::uint64_t place, std::int64_t value) const {
    block[kPlaces[place - 1]] = static_cast<std::int16_t>(value);
  }
};
struct Skipped {
  HWY_INLINE HWY_ATTR void keep(std::uint64_t, std::int64_t) const {}
};

/// The places of a block that are done, and what the last step did.
struct Progress {
  std::uint64_t place = 1;  ///< 64 or more: the block has ended
  std::uint64_t first = 1;  ///< where the first of the last two coefficients led to
  bool valid = true;
};

/// One or two coefficients. True where the block has ended: place is 64 or more. Bits are loaded while the table is
/// looked up, so that what one look-up waits for is the one before it and nothing else.
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
  sink.keep(second, second_coefficient(pair));
  sink.keep(first, first_coefficient(pair, bits.bits));
  progress.place = second;
  if (second >= 64) {
    progress.first = first;
    if (first == 64) {  // a second code is the next block's
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
      const bool in_rows = row * component.vertical + i - wanted.y < wanted.height;  // wraps above the first
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
    if (bits.next > reader.end + sizeof(bits.bits)) return false;  // an MCU takes less than the slack
    if (!read_mcu(bits, components, row, column, reader.dc.data())) return false;
  }
  reader.next = bits.next;
  reader.bits = bits.bits;
  reader.count = bits.count;
  return bits.next <= reader.end + bits.count / 8;
}

bool dequantise(std::int16_t* blocks, std::size_t count, const std::uint16_t* factors) {
  const hn::FixedTag<std::int16_t, 8> d;  // a row of a block
  const hn::RebindToUnsigned<decltype(d)> du;
  auto outside = hn::Zero(d), most = hn::Zero(d);
  for (std::size_t i = 0; i < count; ++i) {
    auto sums = hn::Zero(d);
    for (std::size_t k = 0; k < 64; k += 8) {
      const auto factor = hn::BitCast(d, hn::LoadU(du, factors + k));
      std::int16_t* const at = blocks + 64 * i + k;
      const auto value = hn::LoadU(d, at);
      const auto low = hn::Mul(value, factor);
      outside = hn::Or(outside, hn::Xor(hn::MulHigh(value, factor), hn::ShiftRight<15>(low)));  // more than 16 bits
      sums = hn::SaturatedAdd(sums, hn::Abs(low));
      hn::StoreU(low, d, at);
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
