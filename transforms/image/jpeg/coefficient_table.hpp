// Tables that decode Huffman codes: one symbol per look-up, or two AC coefficients if their codes are short.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::jpeg {

/// A Huffman code as a DHT segment stores it.
struct HuffmanCode {
  std::array<std::uint8_t, 17> counts{};    ///< counts[n] is the number of codes with n bits; counts[0] is unused
  std::array<std::uint8_t, 256> symbols{};  ///< in the order of their codes
  friend bool operator==(const HuffmanCode&, const HuffmanCode&) = default;
};

enum class Symbols : std::uint8_t {
  dc,  ///< number of bits that follow, 0 to 11
  ac,  ///< number of zeros before the coefficient (0 to 15) times 16, plus number of bits that follow (0 to 10)
};

/// The meaning of a code, packed into an integer. 0: no such code.
///
/// bit  0  length of the code plus the bits that follow: the number of bits to skip
///      8  length of the code
///     16  number of bits that follow
///     24  places in zigzag order to advance; kBlockEnd or more: no coefficient follows
using HuffmanEntry = std::uint32_t;
inline constexpr unsigned kBlockEnd = 128;

/// Returns the number after the code with which `bits` begin. Source: ITU-T T.81, F.2.2.1.
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
  /// Returns false if the code is not valid in a baseline file. The table must not be used then.
  bool build(const HuffmanCode& code, Symbols symbols);

  /// The meaning of code number `i`, in code order.
  HuffmanEntry of(std::size_t i) const { return of_symbol_[i]; }
  /// Returns the code with which the highest bits begin.
  HuffmanEntry at(std::uint64_t bits) const {
    const HuffmanEntry entry = entries_[bits >> (64 - kLookupBits)];
    if (entry == 0) [[unlikely]]
      return longer(bits);
    return entry;
  }

 private:
  HuffmanEntry longer(std::uint64_t bits) const;

  std::array<HuffmanEntry, std::size_t{1} << kLookupBits> entries_{};
  std::array<HuffmanEntry, 256> of_symbol_{};  ///< in code order
  std::array<std::uint32_t, 17> ends_{};       ///< end of the codes with n bits, left-aligned in 16 bits
  /// Index into of_symbol_ of a code with n bits, minus the code; modulo 2^32.
  std::array<std::uint32_t, 17> offsets_{};
  HuffmanCode code_{};  ///< the code from which the table was built
  Symbols symbols_ = Symbols::dc;
  bool built_ = false;
};

/// The meaning of the next bits, packed into an integer. 0: a longer code, or a run of 16 zeros.
///
/// bit  0  length of both codes and the numbers after them
///      8  places in zigzag order to advance to the first coefficient; kBlockEnd: the block ends instead
///     16  places to advance to the second one; equal to the above if there is none or it is unknown
///     24  length of the first code
///     32  64 minus the length of the number after it
///     40  the second coefficient, 8 bits
///     48  term to add to the number if its first bit is 0, 16 bits
using CoefficientPair = std::uint64_t;

/// Length of the first code and the number after it.
inline std::uint64_t first_bits(CoefficientPair pair) {
  return (pair >> 24 & 255) + 64 - (pair >> 32 & 255);
}
/// Returns the first coefficient in the low 16 bits. `bits` begin with its code. For an end of block, the result is
/// undefined.
inline std::int64_t first_coefficient(CoefficientPair pair, std::uint64_t bits) {
  const std::uint64_t after = bits << (pair >> 24 & 63);
  const std::int64_t negative = ~(static_cast<std::int64_t>(after) >> 63);
  return static_cast<std::int64_t>(after >> (pair >> 32 & 63)) + (negative & static_cast<std::int64_t>(pair) >> 48);
}
inline std::int64_t second_coefficient(CoefficientPair pair) {
  return static_cast<std::int8_t>(pair >> 40 & 255);
}

/// All complete AC codes and numbers at the start of the next bits, for blocks that are not wanted. Bits 0 to 5 are the
/// number of bits to skip. Bits 6 to 12 are the places in zigzag order to advance, or kNoSkip if no code is complete. Bit
/// 15 is set if the block ends after them.
using Skip = std::uint16_t;
inline constexpr unsigned kNoSkip = 127;
inline unsigned advance_of_skip(Skip skip) {
  return skip >> 6 & 127U;
}
inline bool ends_block(Skip skip) {
  return skip >> 15 != 0;
}

class CoefficientTable {
 public:
  static constexpr unsigned kLookupBits = 10;
  static constexpr unsigned kSkipBits = 11;

  /// Returns false if the code is not valid in a baseline file. The table must not be used then.
  bool build(const HuffmanCode& code);

  CoefficientPair pair(std::uint64_t bits) const { return pairs_[bits >> (64 - kLookupBits)]; }
  Skip skip(std::uint64_t bits) const { return skips_[(std::size_t{1} << kSkipBits) + (bits >> (64 - kSkipBits))]; }
  const HuffmanTable& codes() const { return codes_; }

 private:
  void build_skips(const HuffmanCode& code);
  void add_skips(unsigned size, std::size_t code, unsigned bits, HuffmanEntry entry);

  HuffmanTable codes_;
  /// From element 2^n on: the entries for n bits, which those for more bits are made from.
  std::array<Skip, std::size_t{2} << kSkipBits> skips_{};
  std::array<CoefficientPair, std::size_t{1} << kLookupBits> pairs_{};
};

}  // namespace penstock::jpeg
