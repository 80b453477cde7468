// A table for a Huffman code of a JPEG file, which gives a symbol and the bits behind it in one step.
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

}  // namespace penstock::jpeg
