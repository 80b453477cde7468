// Decodes the entropy-coded data of a baseline scan to coefficients: of the blocks that are wanted, with no work but
// finding their end for the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <transforms/image/dct/frame.hpp>
#include <transforms/image/jpeg/coefficient_table.hpp>

namespace penstock::jpeg {

/// Coefficients behind the last block of a row that are written and do not count.
inline constexpr std::size_t kBlockSlack = 64;
/// Multiplies `count` blocks of 64 with `factors`, both in rows of eight; factors are below 2^15. False where the
/// products are larger than those of any pixels: there implementations of the inverse DCT begin to differ.
bool dequantise(std::int16_t* blocks, std::size_t count, const std::array<std::uint16_t, 64>& factors);

/// A component of the scan.
struct ScanComponent {
  const HuffmanTable* dc;
  const CoefficientTable* ac;
  std::size_t horizontal, vertical;  ///< blocks of an MCU
  jpt::BlockRange wanted;            ///< blocks of the component
  std::int16_t* coefficients;  ///< of the wanted blocks of one row of MCUs, 64 a block in rows of eight, quantised
  std::size_t row_size;        ///< from one row of blocks to the next, in coefficients: more than they take
};

/// Where the reading of a segment is.
struct ScanReader {
  static constexpr std::size_t kMostMcuBlocks = 10;

  /// Behind the segment lie EntropyData::kSlack bytes that may be read.
  void begin(std::span<const std::uint8_t> segment);
  /// Reads the MCUs [first, last) of a row of MCUs. False where the data is not that of a flawless baseline scan.
  bool read(std::span<const ScanComponent> components, std::size_t row, std::size_t first, std::size_t last);

  const std::uint8_t* next = nullptr;
  const std::uint8_t* end = nullptr;
  std::uint64_t bits = 0;   ///< the next ones, from the highest on; those behind `count` are right or zero
  std::uint64_t count = 0;  ///< of them
  std::array<std::int32_t, jpt::kMostComponents> dc{};  ///< of each component's last block
};

}  // namespace penstock::jpeg
