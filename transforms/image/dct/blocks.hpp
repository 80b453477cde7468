// Converts symbols to dequantised coefficients: masks say which of a block's 64 are not zero, and values follow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::jpt {

inline constexpr std::size_t kBlockSize = 64;  ///< coefficients of a block
/// Number of bytes after the last symbol of a run that may be read. Their content does not matter.
inline constexpr std::size_t kSymbolSlack = 64;
/// Symbol of a value outside -127 to 127. The value is then stored among the escapes.
inline constexpr std::int8_t kEscape = -128;

/// Maps a zigzag place to the place in rows of eight.
inline constexpr std::array<std::uint8_t, 64> kNatural{0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                                       12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                                       35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                                       58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// Sets counts[r] to the number of bytes with bit r set.
void count_bits(std::span<const std::uint8_t> bytes, std::array<std::size_t, 8>& counts);

/// Sets byte r of masks[i] to the next byte of streams[r] if bit r of rows[i] is set, else to zero. `rows` and the
/// streams need kSymbolSlack readable bytes after the end, and `masks` 16 writable elements.
void merge_masks(std::span<const std::uint8_t> rows, const std::array<const std::uint8_t*, 8>& streams,
                 std::uint64_t* masks);

/// Returns the number of values of the blocks with these masks, in zigzag places 1 to 7 and in the others.
std::array<std::size_t, 2> count_values(const std::uint64_t* masks, std::size_t blocks);

/// Returns the number of bytes that are kEscape.
std::size_t count_escapes(const std::int8_t* values, std::size_t count);

/// Pointers to the values of the next block. Values of zigzag places 1 to 7 are in `first`, the others in `rest`.
struct Values {
  const std::int8_t* first;
  const std::int8_t* rest;
  const std::byte* escapes;  ///< 16 bits each
};

/// Writes `blocks` blocks of 64 dequantised coefficients in rows of eight. Coefficient 0 is dc * quantisation[0]. Bit k
/// of a mask, k >= 1, says whether zigzag place k is not zero. Products keep their low 16 bits. `quantisation` is in
/// rows of eight.
void expand(const std::uint64_t* masks, const std::int16_t* dc, std::size_t blocks,
            const std::array<std::int16_t, 64>& quantisation, Values& values, std::int16_t* coefficients);
/// Skips the values of blocks. `escaped` may be false only if no value of the blocks is an escape.
void skip(const std::uint64_t* masks, std::size_t blocks, bool escaped, Values& values);

}  // namespace penstock::jpt
