#include <algorithm>
#include <optional>

#include <transforms/image/jpeg/coefficient_table.hpp>

namespace penstock::jpeg {
namespace {

constexpr unsigned kMostBits = 16;  ///< length of the longest code

std::optional<HuffmanEntry> entry_of(std::uint8_t symbol, unsigned bits, Symbols symbols) {
  const unsigned follow = symbols == Symbols::dc ? symbol : symbol & 15U;
  // Baseline files have DC differences up to 11 bits and AC coefficients up to 10 bits.
  if (follow > (symbols == Symbols::dc ? 11U : 10U)) return std::nullopt;
  unsigned advance = 0;
  if (symbols == Symbols::ac) {
    const unsigned zeros = symbol >> 4;
    advance = follow == 0 && zeros != 15 ? kBlockEnd : zeros + 1;
  }
  return (bits + follow) | bits << 8 | follow << 16 | advance << 24;
}

CoefficientPair bits_of(HuffmanEntry entry) {
  return entry & 63;
}
CoefficientPair advance_of(HuffmanEntry entry) {
  return entry >> 24;
}

}  // namespace

// Source: ITU-T T.81, annexes C and F.2.2.3.
bool HuffmanTable::build(const HuffmanCode& code, Symbols symbols) {
  if (is_of(code, symbols)) return true;
  built_ = false;
  entries_.fill(0);
  std::uint32_t next = 0;  // next code
  std::size_t used = 0;    // number of symbols so far
  for (unsigned bits = 1; bits <= kMostBits; ++bits) {
    const std::uint32_t count = code.counts[bits];
    if (used + count > code.symbols.size()) return false;
    if (count > 0 && next + count >= std::uint32_t{1} << bits) return false;  // the code of all ones is reserved
    offsets_[bits] = static_cast<std::uint32_t>(used) - next;
    for (std::uint32_t i = 0; i < count; ++i, ++next, ++used) {
      const auto entry = entry_of(code.symbols[used], bits, symbols);
      if (!entry) return false;
      of_symbol_[used] = *entry;
      if (bits > kLookupBits) continue;
      const unsigned free = kLookupBits - bits;
      std::fill_n(entries_.begin() + (next << free), std::size_t{1} << free, *entry);
    }
    ends_[bits] = next << (kMostBits - bits);
    next <<= 1;
  }
  code_ = code;
  symbols_ = symbols;
  return built_ = true;
}

HuffmanEntry HuffmanTable::longer(std::uint64_t bits) const {
  const auto top = static_cast<std::uint32_t>(bits >> 48);
  for (unsigned count = kLookupBits + 1; count <= kMostBits; ++count) {
    if (top < ends_[count]) return of_symbol_[(top >> (kMostBits - count)) + offsets_[count]];
  }
  return 0;
}

/// Fills the entries of `size` bits that begin with a code of `bits` bits. Adds the entries for the bits after the
/// code.
void CoefficientTable::add_skips(unsigned size, std::size_t code, unsigned bits, HuffmanEntry entry) {
  const auto length = static_cast<unsigned>(bits_of(entry)), advance = static_cast<unsigned>(advance_of(entry));
  if (length > size) return;
  const std::size_t numbers = std::size_t{1} << (length - bits), behind = std::size_t{1} << (size - length);
  Skip* to = skips_.data() + (std::size_t{1} << size) + (code << (size - bits));
  if (advance == kBlockEnd) {
    std::fill_n(to, behind, static_cast<Skip>(length | 1U << 15));
    return;
  }
  const auto alone = static_cast<Skip>(length | advance << 6);
  // If a run of 16 zeros has only one bit, the sum of the places might not fit.
  if (length == 1) {
    std::fill_n(to, behind, alone);
    return;
  }
  const Skip* more = skips_.data() + behind;
  for (std::size_t number = 0; number < numbers; ++number, to += behind)
    for (std::size_t k = 0; k < behind; ++k) to[k] = static_cast<Skip>(more[k] + alone);
}

void CoefficientTable::build_skips(const HuffmanCode& code) {
  skips_.fill(0);
  for (unsigned size = 1; size <= kSkipBits; ++size) {
    std::size_t next = 0, used = 0;  // next code, and its number
    for (unsigned bits = 1; bits <= size; ++bits, next <<= 1)
      for (unsigned i = 0; i < code.counts[bits]; ++i) add_skips(size, next++, bits, codes_.of(used++));
  }
  std::replace(skips_.begin() + (std::ptrdiff_t{1} << kSkipBits), skips_.end(), Skip{0},
               static_cast<Skip>(kNoSkip << 6));
}

bool CoefficientTable::build(const HuffmanCode& code) {
  if (codes_.is_of(code, Symbols::ac)) return true;
  if (!codes_.build(code, Symbols::ac)) return false;
  build_skips(code);
  for (std::uint64_t i = 0; i < pairs_.size(); ++i) {
    CoefficientPair& pair = pairs_[i];
    pair = 0;
    const std::uint64_t bits = i << (64 - kLookupBits);
    const HuffmanEntry first = codes_.at(bits);
    if (first == 0 || (first >> 8 & 31) > kLookupBits) continue;
    const unsigned size = first >> 16 & 15;
    // A run of 16 zeros has no value bits, and first_coefficient() cannot shift by 64. Runs take the slow path.
    if (size == 0 && advance_of(first) != kBlockEnd) continue;
    const auto below = static_cast<std::uint16_t>(1 - (1 << size));
    const CoefficientPair one = advance_of(first) << 8 | CoefficientPair{first >> 8 & 255} << 24 |
                                CoefficientPair{64 - size} << 32 | CoefficientPair{below} << 48;
    pair = one | bits_of(first) | advance_of(first) << 16;
    if (advance_of(first) == kBlockEnd || bits_of(first) >= kLookupBits) continue;
    const std::uint64_t behind = bits << bits_of(first);
    const HuffmanEntry second = codes_.at(behind);
    if (second == 0 || bits_of(first) + bits_of(second) > kLookupBits) continue;
    const auto value = static_cast<std::uint8_t>(number_behind(second, behind));
    pair = one | (bits_of(first) + bits_of(second)) | (advance_of(first) + advance_of(second)) << 16 |
           CoefficientPair{value} << 40;
  }
  return true;
}

}  // namespace penstock::jpeg
