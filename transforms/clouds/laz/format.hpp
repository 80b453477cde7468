// Reads a LAZ file's compression parameters: the VLR "laszip encoded", and the table of chunks.
//
//   VLR: compressor u16 | coder u16 | version (4) | options u32 | points per chunk u32 | EVLRs 2 x i64 | items u16
//        then per item: type u16, bytes u16, version u16
//   points: offset of the chunk table i64 | chunks | table: version u32, chunks u32, entropy-coded entries
//
// Source: "LAZ Specification 1.4 - R1", ASPRS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/clouds/codecs/las_header.hpp>

namespace penstock {

/// A part of a record that is encoded separately.
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
  std::uint32_t at;  ///< offset in the record
};

struct LazFormat {
  bool chunked = false;            ///< otherwise all points are one chunk, without a table
  bool layered = false;            ///< formats 6 to 10: the bytes of each item are separate
  bool variable = false;           ///< chunks have different numbers of points
  std::uint32_t chunk_points = 0;  ///< points of all chunks except the last, unless `variable`
  std::vector<LazItem> items = {};
};

/// Throws Error: corrupt, if the items do not add up to the header's records; unsupported, for unknown compressors,
/// coders, items and versions.
LazFormat read_laz_format(const LasHeader& header);

struct LazChunk {
  std::uint64_t first;   ///< number of the first point
  std::uint64_t points;  ///< at least 1
  std::uint64_t begin;   ///< [begin, end) in the file; without a table, end is the file's end
  std::uint64_t end;
};

/// Returns the chunks in order, validated: they contain the header's points and are inside `bytes`. If chunks have a
/// fixed number of points and the table is missing or broken, returns only the first chunk. Each next chunk then begins
/// at the end of the previous one. Throws Error: corrupt, for other invalid tables.
std::vector<LazChunk> read_laz_chunks(const LasHeader& header, const LazFormat& format,
                                      std::span<const std::byte> bytes);

/// Throws Error: corrupt, if `length` bytes cannot hold the header's points. Even a point that repeats the previous one
/// takes more than 1/256 bit, so a byte holds fewer than 2,048 points.
void check_laz_points(const LasHeader& header, std::uint64_t length);

}  // namespace penstock
