// Decodes the entropy-coded data of a baseline scan to coefficients. Blocks that are not wanted are only parsed to find
// their end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <transforms/image/dct/frame.hpp>
#include <transforms/image/jpeg/coefficient_table.hpp>

namespace penstock::jpeg {

/// Number of coefficients after the last block of a row that may be overwritten.
inline constexpr std::size_t kBlockSlack = 64;
/// Multiplies `count` blocks of 64 by `factors`, both in rows of eight. Factors are below 2^15. Returns false if
/// products are larger than those of any pixels, because implementations of the inverse DCT differ for them.
bool dequantise(std::int16_t* blocks, std::size_t count, const std::array<std::uint16_t, 64>& factors);

/// A component of the scan.
struct ScanComponent {
  const HuffmanTable* dc;
  const CoefficientTable* ac;
  std::size_t horizontal, vertical;  ///< blocks per MCU
  jpt::BlockRange wanted;            ///< in blocks of the component
  std::int16_t* coefficients;  ///< quantised, of the wanted blocks in one row of MCUs, 64 per block in rows of eight
  std::size_t row_size;        ///< coefficients from one row of blocks to the next, including slack
};

/// The state of reading a segment.
struct ScanReader {
  static constexpr std::size_t kMostMcuBlocks = 10;

  /// Starts a segment. EntropyData::kSlack bytes after it must be readable.
  void begin(std::span<const std::uint8_t> segment);
  /// Reads the MCUs [first, last) of a row of MCUs. Returns false if the data is not an intact baseline scan.
  bool read(std::span<const ScanComponent> components, std::size_t row, std::size_t first, std::size_t last);

  const std::uint8_t* next = nullptr;
  const std::uint8_t* end = nullptr;
  std::uint64_t bits = 0;   ///< the next bits, from the highest on; bits after `count` are correct or zero
  std::uint64_t count = 0;  ///< number of valid bits
  std::array<std::int32_t, jpt::kMostComponents> dc{};  ///< DC coefficient of each component's last block
};

}  // namespace penstock::jpeg
