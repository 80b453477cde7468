// A table that decodes two AC coefficients in one step, where their codes are short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <transforms/image/jpeg/huffman_table.hpp>

namespace penstock::jpeg {

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
