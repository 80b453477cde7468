// The frequency tables of the entropy coder: their stored form and their look-up tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::jpt {

inline constexpr unsigned kProbabilityBits = 11;
inline constexpr std::uint32_t kProbabilityTotal = 1U << kProbabilityBits;

using Counts = std::array<std::uint32_t, 256>;  ///< number of occurrences of each symbol

/// A frequency class for each symbol 0 to 255. Class 0 means that the symbol does not occur.
struct RansTable {
  std::array<std::uint8_t, 256> classes{};
  bool is_signed = false;  ///< stored in the order 0, -1, 1, -2, ...: small numbers first

  /// Returns frequencies that add up to kProbabilityTotal, or zeros if no symbol occurs.
  std::array<std::uint16_t, 256> frequencies() const;
  friend bool operator==(const RansTable&, const RansTable&) = default;
};

/// Returns the best table for the counts, with the given `is_signed`.
RansTable table_for(const Counts& counts, bool is_signed);

/// Length of a stored table in bits.
std::size_t stored_bits(const RansTable& table);
/// Appends the tables in one bit stream. Fills the last byte with zeros.
void store_tables(std::span<const RansTable> tables, std::vector<std::byte>& out);
/// Reads tables.size() tables and returns their length in bytes. Throws Error: corrupt.
std::size_t load_tables(std::span<const std::byte> bytes, std::span<RansTable> tables);

/// For each of the kProbabilityTotal slots: symbol, frequency << 8, and slot - (the symbol's first slot) << 20. A table
/// without symbols has zeros only; runs decoded with it are zeros, and the final states never match.
using SlotTable = std::array<std::uint32_t, kProbabilityTotal + 16>;  // 16 more that may be overwritten
void build_slots(const RansTable& table, SlotTable& slots);

}  // namespace penstock::jpt
