// Reads how a LAZ file was compressed: the VLR "laszip encoded", and the table of chunks.
//
//   VLR: compressor u16 | coder u16 | version (4) | options u32 | points per chunk u32 | EVLRs 2 x i64 | items u16
//        then per item: type u16, bytes u16, version u16
//   points: where the table of chunks is, i64 | chunks | table: version u32, chunks u32, the entries entropy coded
//
// Source: "LAZ Specification 1.4 - R1", ASPRS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/clouds/codecs/las_header.hpp>

namespace penstock {

/// A part of a record that is coded by itself.
struct LazItem {
  enum class Kind : std::uint16_t {
    byte = 0,
    point10 = 6,
    gps_time11 = 7,
    rgb12 = 8,
    wave_packet13 = 9,
    point14 = 10,
    rgb14 = 11,
    rgb_nir14 = 12,
    wave_packet14 = 13,
    byte14 = 14,
  };
  Kind kind;
  std::uint16_t bytes;
  std::uint16_t version;
  std::uint32_t at;  ///< bytes from the start of the record
};

struct LazFormat {
  bool chunked = false;            ///< else all points are one chunk, and there is no table
  bool layered = false;            ///< formats 6 to 10: each item's bytes apart
  bool variable = false;           ///< chunks have different numbers of points
  std::uint32_t chunk_points = 0;  ///< of all chunks but the last, unless `variable`
  std::vector<LazItem> items = {};
};

/// Throws Error: corrupt, where the items do not make up the header's records; unsupported, for compressors, coders and
/// items of other kinds and versions.
LazFormat read_laz_format(const LasHeader& header);

struct LazChunk {
  std::uint64_t first;   ///< number of its first point
  std::uint64_t points;  ///< at least 1
  std::uint64_t begin;   ///< [begin, end) of the file's bytes; end is the end of all where no table tells
  std::uint64_t end;
};

/// The chunks in order, checked to hold the header's points and to lie within `bytes`. Where chunks have a fixed number
/// of points, a table that is missing or broken leaves the first chunk alone: each next one begins where the one before
/// ended. Throws Error: corrupt, for other tables that are.
std::vector<LazChunk> read_laz_chunks(const LasHeader& header, const LazFormat& format,
                                      std::span<const std::byte> bytes);

/// Throws Error: corrupt, where `length` bytes cannot hold the header's points: even a point that repeats the one
/// before takes more than a 256th of a bit, so that 2,048 of them take a byte.
void check_laz_points(const LasHeader& header, std::uint64_t length);

}  // namespace penstock
