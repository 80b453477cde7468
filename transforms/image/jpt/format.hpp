// The layout of a `jpt` field: the quantised coefficients of a JPEG file, in tiles that decode independently.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/image/dct/frame.hpp>
#include <transforms/image/jpt/rans_table.hpp>

namespace penstock::jpt {

inline constexpr std::array<std::byte, 4> kMagic{std::byte{'J'}, std::byte{'P'}, std::byte{'T'}, std::byte{1}};

/// Runs of symbols in a tile: first those of component 0, then those of all other components together. Both groups have
/// this order. Each kind may have a separate table.
enum Symbols : std::uint8_t {
  kDcHigh,  ///< for each block: bits 8 to 15 of its zigzag-mapped DC difference
  kDcLow,   ///< for each block: bits 0 to 7 of it
  kRows,    ///< for each block: bit r is set if any of places 8r to 8r + 7 of the zigzag order is not zero
  kMask0,   ///< for each block with bit 0 set: mask of the places 0 to 7 that are not zero
  kMask1,
  kMask2,
  kMask3,
  kMask4,  ///< for r = 4, then 5, 6, 7: for each block with bit r set
  kFirst,  ///< values at places 1 to 7, as signed bytes, block by block
  kRest,   ///< values at places 8 to 63
  kSymbolKinds,
};
inline constexpr std::size_t kClasses = 2;
inline constexpr std::size_t kContexts = kClasses * kSymbolKinds;

/// Everything before the tiles. All numbers are little-endian:
///
///    0  "JPT", u8 version, 1
///    4  u32 length of the head; u32 length of head and tiles, after which the data to restore the JPEG file begin
///   12  u16 width, u16 height, u8 colour (0 gray, 1 YCbCr, 2 RGB), u8 components
///   18  u8 width, u8 height of a tile in MCUs
///   20  for each component: u8 sampling (horizontal * 16 + vertical), u8 number of its quantisation table
///       u8 number of quantisation tables; for each: u8 bytes of an entry, 1 or 2, then 64 entries in zigzag order
///       u8 number of frequency tables; u8 table of each of the 20 runs (Symbols, twice); the tables (rans_table.hpp)
///       u32 end of each tile, counted from the end of the head; tiles row by row
struct Head {
  Frame frame;
  std::array<std::uint8_t, kContexts> table_of{};
  std::vector<RansTable> tables;
  std::vector<std::uint32_t> tile_ends;
  std::size_t head_bytes = 0;   ///< offset of the first tile
  std::size_t coded_bytes = 0;  ///< length of head and tiles

  /// [begin, end) of a tile in the field.
  std::size_t tile_begin(std::size_t tile) const { return head_bytes + (tile == 0 ? 0 : tile_ends[tile - 1]); }
  std::size_t tile_end(std::size_t tile) const { return head_bytes + tile_ends[tile]; }
};

/// Reads the head of a field and reuses the memory of `head`. Throws Error: corrupt, unsupported.
void parse_head(std::span<const std::byte> field, Head& head);
/// Reads the head of a field of which only the first bytes are present. Does not check the field's length.
void parse_first_bytes(std::span<const std::byte> bytes, Head& head);
/// Reads the part before the quantisation tables and returns its length, 20 + 2 * components bytes.
/// Throws Error: corrupt, unsupported.
std::size_t parse_sizes(std::span<const std::byte> field, Frame& frame, std::uint32_t& head_bytes);
/// Replaces `out` by the stored head. Sets head_bytes and coded_bytes.
void store_head(Head& head, std::vector<std::byte>& out);

}  // namespace penstock::jpt
