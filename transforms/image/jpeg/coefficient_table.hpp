// Tables that decode Huffman codes: one symbol in a step, or two AC coefficients where their codes are short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::jpeg {

/// As a DHT segment stores it.
struct HuffmanCode {
  std::array<std::uint8_t, 17> counts{};    ///< counts[n]: codes of n bits; counts[0] is not used
  std::array<std::uint8_t, 256> symbols{};  ///< in the order of their codes
  friend bool operator==(const HuffmanCode&, const HuffmanCode&) = default;
};

enum class Symbols : std::uint8_t {
  dc,  ///< number of bits that follow, 0 to 11
  ac,  ///< zeros before the coefficient, 0 to 15, times 16; plus number of bits that follow, 0 to 10
};

/// What a code says, in the bits of an integer: 0 where there is no such code.
///    0  bits of the code and the bits that follow it: what is to be passed over
///    8  bits of the code
///   16  bits that follow
///   24  places in zigzag order to advance: kBlockEnd or more where no coefficient follows
using HuffmanEntry = std::uint32_t;
inline constexpr unsigned kBlockEnd = 128;

/// The number that follows the code that `bits` begin with; source: ITU-T T.81, F.2.2.1.
inline std::int32_t number_behind(HuffmanEntry entry, std::uint64_t bits) {
  const std::uint64_t after = bits << (entry >> 8 & 31);
  const unsigned size = entry >> 16 & 15;
  const auto number = static_cast<std::int32_t>(after >> 1 >> (63 - size));
  const auto negative = static_cast<std::int32_t>(~(static_cast<std::int64_t>(after) >> 63));
  return number + (negative & (1 - (1 << size)));
}

class HuffmanTable {
 public:
  static constexpr unsigned kLookupBits = 10;

  bool is_of(const HuffmanCode& code, Symbols symbols) const { return built_ && symbols == symbols_ && code == code_; }
  /// False where the code is not one of a baseline file; the table is then not to be used.
  bool build(const HuffmanCode& code, Symbols symbols);

  /// The code that the highest bits begin with.
  HuffmanEntry at(std::uint64_t bits) const {
    const HuffmanEntry entry = entries_[bits >> (64 - kLookupBits)];
    if (entry == 0) [[unlikely]]
      return longer(bits);
    return entry;
  }

 private:
  HuffmanEntry longer(std::uint64_t bits) const;

  std::array<HuffmanEntry, std::size_t{1} << kLookupBits> entries_{};
  std::array<HuffmanEntry, 256> of_symbol_{};  ///< in the order of their codes
  std::array<std::uint32_t, 17> ends_{};       ///< behind the last code of n bits, as the highest of 16 bits
  std::array<std::uint32_t, 17> offsets_{};    ///< place of a code of n bits in of_symbol_, less the code; modulo 2^32
  HuffmanCode code_{};                         ///< what the table was built of
  Symbols symbols_ = Symbols::dc;
  bool built_ = false;
};

/// What the next bits say, in the bits of an integer: 0 where they begin with a longer code, or
/// with 16 zeros.
///    0  bits of both codes and the numbers behind them
///    8  places in zigzag order to advance to the first coefficient: kBlockEnd where the block ends instead
///   16  and to the second; the same again where it is not known or there is none
///   24  bits of the first code
///   32  64 less the bits of the number behind it
///   40  the second coefficient, 8 bits
///   48  what is added to the number where its first bit is 0, 16 bits
using CoefficientPair = std::uint64_t;

/// Bits of the first code and the number behind it.
inline std::uint64_t first_bits(CoefficientPair pair) {
  return (pair >> 24 & 255) + 64 - (pair >> 32 & 255);
}
/// The first coefficient, in the low 16 bits; `bits` begin with its code. Of an end of block, anything.
inline std::int64_t first_coefficient(CoefficientPair pair, std::uint64_t bits) {
  const std::uint64_t after = bits << (pair >> 24 & 63);
  const std::int64_t negative = ~(static_cast<std::int64_t>(after) >> 63);
  return static_cast<std::int64_t>(after >> (pair >> 32 & 63)) + (negative & static_cast<std::int64_t>(pair) >> 48);
}
inline std::int64_t second_coefficient(CoefficientPair pair) {
  return static_cast<std::int8_t>(pair >> 40 & 255);
}

class CoefficientTable {
 public:
  static constexpr unsigned kLookupBits = 10;

  /// False where the code is not one of a baseline file; the table is then not to be used.
  bool build(const HuffmanCode& code);

  CoefficientPair pair(std::uint64_t bits) const { return pairs_[bits >> (64 - kLookupBits)]; }
  const HuffmanTable& codes() const { return codes_; }

 private:
  HuffmanTable codes_;
  std::array<CoefficientPair, std::size_t{1} << kLookupBits> pairs_{};
};

}  // namespace penstock::jpeg
