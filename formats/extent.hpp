// Describes where a field's bytes lie: extents of files, blocks (an extent and filters to undo), and pieces of either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <formats/mosaic.hpp>

namespace penstock {

/// A byte range of one file.
struct Extent {
  std::uint32_t file;    ///< number of the file in its Index or Dataset
  std::uint64_t offset;  ///< bytes from the start of that file
  std::uint64_t
      length;  ///< stored bytes; [offset, offset + length) should lie inside the file, and is checked when read
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// One step that turned plain bytes into stored ones; reading undoes the steps in reverse order.
struct Filter {
  enum class Id : std::uint16_t {
    deflate = 1,     ///< with the zlib wrapper; this one and those below 32768 are numbered as HDF5 does
    shuffle = 2,     ///< parameter: bytes of an element
    fletcher32 = 3,  ///< four bytes behind the data
    lzf = 32000,
    blosc = 32001,
    lz4 = 32004,   ///< blocks of LZ4 in HDF5's own frame
    zstd = 32015,  ///< one frame or several, one behind the other
    raw_deflate = 32768,
    crc32 = 32769,      ///< takes no bytes; parameter: the CRC-32 of what goes in
    byte_swap = 32770,  ///< parameter: bytes of an element, which stand in big-endian order
    varint = 32771,     ///< int64 values as the varints of protobuf
    crc32c = 32772,     ///< takes no bytes; parameter: the CRC-32C of what goes in
    widen = 32773,      ///< widens numbers; parameter: see filters/widen.hpp. Never written to a file
  };
  Id id;
  std::uint32_t parameter;  ///< as above, otherwise 0
  friend bool operator==(const Filter&, const Filter&) = default;
};

/// An extent and the filters to undo; or a mosaic of other blocks, and then neither. Several samples may share one (an
/// HDF5 chunk).
struct Block {
  Extent extent;
  std::vector<Filter> filters;   ///< in the order they were applied when written
  std::uint64_t decoded_length;  ///< bytes once all filters are undone
  std::optional<Mosaic> mosaic = {};
  friend bool operator==(const Block&, const Block&) = default;
};

/// One run of a field's bytes. A field is one or more pieces, in order.
struct Piece {
  enum class Kind : std::uint8_t {
    extent,  ///< `extent` holds the bytes as they are
    block,   ///< [offset, offset + length) of the undone bytes of block number `block`
    bytes,   ///< `inline_bytes` are the bytes (compact or tiny values)
    fill,    ///< `length` bytes, `inline_bytes` repeated (an unallocated HDF5 chunk)
  };
  Kind kind = Kind::extent;
  Extent extent{};
  std::uint32_t block = 0;
  std::uint64_t offset = 0;                 ///< inside the block's undone bytes
  std::uint64_t length = 0;                 ///< bytes of the field that this piece holds, whatever the kind
  std::span<const std::byte> inline_bytes;  ///< lives as long as the Index
};

}  // namespace penstock
