// The frequency tables of the entropy coder: what a `jpt` field stores of them, and what decoding looks up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::jpt {

inline constexpr unsigned kProbabilityBits = 11;
inline constexpr std::uint32_t kProbabilityTotal = 1U << kProbabilityBits;

using Counts = std::array<std::uint32_t, 256>;  ///< how often each symbol occurs

/// Symbols 0 to 255, each with a class from which its frequency follows. 0: it does not occur.
struct RansTable {
  std::array<std::uint8_t, 256> classes{};
  bool is_signed = false;  ///< stored in the order 0, -1, 1, -2, ...: small numbers first

  /// Frequencies that add up to kProbabilityTotal; all zero where no symbol occurs.
  std::array<std::uint16_t, 256> frequencies() const;
  friend bool operator==(const RansTable&, const RansTable&) = default;
};

/// The table that suits the counts. `is_signed` is kept as it is given.
RansTable table_for(const Counts& counts, bool is_signed);

/// Bits that a table takes when stored.
std::size_t stored_bits(const RansTable& table);
/// Appends the tables, one after the other in one stream of bits, and fills the last byte with zeros.
void store_tables(std::span<const RansTable> tables, std::vector<std::byte>& out);
/// Reads as many tables as there are; returns the bytes they took. Throws Error: corrupt.
std::size_t load_tables(std::span<const std::byte> bytes, std::span<RansTable> tables);

/// For each of the kProbabilityTotal slots: symbol, frequency << 8, and slot - (the symbol's first slot) << 20.
/// A table without symbols is all zeros: it decodes to zeros and never ends well.
using SlotTable = std::array<std::uint32_t, kProbabilityTotal + 16>;  // 16 that are written and not read
void build_slots(const RansTable& table, SlotTable& slots);

}  // namespace penstock::jpt
