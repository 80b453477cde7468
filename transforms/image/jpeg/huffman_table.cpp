#include <algorithm>
#include <optional>

#include <transforms/image/jpeg/huffman_table.hpp>

namespace penstock::jpeg {
namespace {

constexpr unsigned kMostBits = 16;  ///< of a code

std::optional<HuffmanEntry> entry_of(std::uint8_t symbol, unsigned bits, Symbols symbols) {
  const unsigned follow = symbols == Symbols::dc ? symbol : symbol & 15U;
  if (follow > (symbols == Symbols::dc ? 11U : 10U)) return std::nullopt;
  unsigned advance = 0;
  if (symbols == Symbols::ac) {
    const unsigned zeros = symbol >> 4;
    advance = follow == 0 && zeros != 15 ? kBlockEnd : zeros + 1;
  }
  return (bits + follow) | bits << 8 | follow << 16 | advance << 24;
}

}  // namespace

// Source: ITU-T T.81, annexes C and F.2.2.3.
bool HuffmanTable::build(const HuffmanCode& code, Symbols symbols) {
  if (is_of(code, symbols)) return true;
  built_ = false;
  entries_.fill(0);
  std::uint32_t next = 0;  // code
  std::size_t used = 0;    // symbols
  for (unsigned bits = 1; bits <= kMostBits; ++bits) {
    const std::uint32_t count = code.counts[bits];
    if (used + count > code.symbols.size()) return false;
    if (count > 0 && next + count >= std::uint32_t{1} << bits) return false;  // no code consists of ones alone
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

}  // namespace penstock::jpeg
