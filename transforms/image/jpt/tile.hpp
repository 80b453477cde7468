// A tile: its decoded symbols, and their encoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/image/dct/blocks.hpp>
#include <transforms/image/jpt/format.hpp>
#include <transforms/image/jpt/rans.hpp>

namespace penstock::jpt {

/// Look-up tables of a field, built from its head. Memory is reused from field to field.
class TileTables {
 public:
  void build(const Head& head);
  const SlotTable& of(std::size_t klass, std::size_t symbols) const {
    return slots_[table_of_[klass * kSymbolKinds + symbols]];
  }

 private:
  std::vector<SlotTable> slots_;
  std::array<std::uint8_t, kContexts> table_of_{};
};

/// The blocks of one class of components in one tile.
struct TileClass {
  std::size_t blocks = 0;
  std::vector<std::int16_t> dc;
  std::vector<std::uint64_t> masks;
  std::vector<std::uint8_t> first, rest;  ///< values, with kSymbolSlack bytes after them
  std::array<std::size_t, 2> values{};    ///< number of values in each
  bool escaped = false;
  Values begin{};  ///< the values of the first block
};

/// Decodes tiles one by one.
class Tile {
 public:
  /// Throws Error: corrupt, unless the bytes hold exactly this tile.
  void decode(const Frame& frame, const TileTables& tables, std::size_t number, std::span<const std::byte> bytes);
  const TileClass& of(std::size_t klass) const { return classes_[klass]; }

 private:
  void decode_class(const TileTables& tables, std::size_t klass);
  void sum_up_dc(const Frame& frame, std::size_t number, std::size_t klass);

  RansDecoder rans_;
  std::array<TileClass, kClasses> classes_;
  std::array<std::vector<std::uint8_t>, 2> dc_symbols_;
  std::vector<std::uint8_t> rows_;
  std::array<std::vector<std::uint8_t>, 8> row_masks_;
};

/// Symbols of a tile to encode.
struct TileSymbols {
  std::array<std::vector<std::uint8_t>, kContexts> runs;
  std::vector<std::int16_t> escapes;

  void clear();
};

/// Returns a block's quantised coefficients, 64 in rows of eight.
using BlockAt = const std::int16_t* (*)(const void* image, std::size_t component, std::size_t x, std::size_t y);

/// Collects the symbols of a tile of an image.
void collect(const Frame& frame, std::size_t tile, const void* image, BlockAt block_at, TileSymbols& symbols);
/// Appends the stored tile: states and words of the coder, then the escapes, 16 bits each.
void encode_tile(const TileSymbols& symbols, const Head& head, RansEncoder& encoder, std::vector<std::byte>& out);

}  // namespace penstock::jpt
