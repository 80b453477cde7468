// Describes where the bytes of a field are stored: extents of files, blocks (an extent and filters to reverse), and
// pieces of both.
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
  std::uint64_t length;  ///< stored bytes; readers check that [offset, offset + length) is inside the file
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// One step that turned plain bytes into stored bytes. Reading reverses the steps in the opposite order.
struct Filter {
  enum class Id : std::uint16_t {
    deflate = 1,       ///< with the zlib wrapper; numbers below 32768 are those of HDF5
    shuffle = 2,       ///< parameter: bytes per element
    fletcher32 = 3,    ///< four bytes after the data
    scale_offset = 6,  ///< three operands follow; see filters/scale_offset.hpp
    bzip2 = 307,
    lzf = 32000,
    blosc = 32001,
    lz4 = 32004,         ///< blocks of LZ4 in HDF5's own frame
    bitshuffle = 32008,  ///< parameter: bytes per element; an operand follows: elements per block
    zstd = 32015,        ///< one or more consecutive frames
    raw_deflate = 32768,
    crc32 = 32769,            ///< adds no bytes; parameter: the CRC-32 of its input
    byte_swap = 32770,        ///< parameter: bytes per element, stored in big-endian order
    varint = 32771,           ///< int64 values as the varints of protobuf
    crc32c = 32772,           ///< adds no bytes; parameter: the CRC-32C of its input
    widen = 32773,            ///< widens numbers; parameter: see filters/widen.hpp. Never written to a file
    npy_order = 32774,        ///< decodes a whole .npy file with elements in Fortran order to C order
    bitshuffle_lz4 = 32775,   ///< filter 32008 of HDF5 with LZ4. Parameter: bytes per element.
    bitshuffle_zstd = 32776,  ///< the same with Zstandard
    operand = 32777,          ///< no step: one more parameter of the filter before it
  };
  Id id;
  std::uint32_t parameter;  ///< described above, otherwise 0
  friend bool operator==(const Filter&, const Filter&) = default;
};

/// An extent and the filters to reverse, or a mosaic of other blocks without extent and filters. Several samples may
/// share a block (an HDF5 chunk).
struct Block {
  Extent extent;
  std::vector<Filter> filters;   ///< in the order in which they were applied when written
  std::uint64_t decoded_length;  ///< bytes after all filters are reversed
  std::optional<Mosaic> mosaic = {};
  friend bool operator==(const Block&, const Block&) = default;
};

/// One run of a field's bytes. A field consists of one or more pieces, in order.
struct Piece {
  enum class Kind : std::uint8_t {
    extent,  ///< `extent` holds the plain bytes
    block,   ///< [offset, offset + length) of the decoded bytes of block number `block`
    bytes,   ///< `inline_bytes` are the bytes (compact or tiny values)
    fill,    ///< `length` bytes, `inline_bytes` repeated (an unallocated HDF5 chunk)
  };
  Kind kind = Kind::extent;
  Extent extent{};
  std::uint32_t block = 0;
  std::uint64_t offset = 0;                 ///< inside the decoded bytes of the block
  std::uint64_t length = 0;                 ///< bytes of the field in this piece, for every kind
  std::span<const std::byte> inline_bytes;  ///< valid as long as the Index
};

}  // namespace penstock
