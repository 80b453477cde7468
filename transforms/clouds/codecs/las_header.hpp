// Reads the header of a LAS or LAZ file: how many records there are, where they lie, and what they hold.
//
//   0  "LASF"   24 version   94 header size u16   96 first record u32   100 VLRs u32   104 format u8 (0x80: LAZ)
//   105 record length u16   107 records u32   131 scale 3 x f64   155 offset   179 max x, min x, max y, min y, ...
//   from 1.3: 227 waveforms u64   from 1.4: 235 EVLRs   247 records u64   then VLRs, and records up to the file's end
//
// Source: ASPRS, "LAS Specification 1.4 - R15".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/las_attributes.hpp>

namespace penstock {

/// The codecs deliver `origin` as CloudHeader does: for each axis the lower bound that the header states, if it is
/// finite, not above the upper one, and within what 32 bits times the scale reach from the header's offset; else that
/// offset.
struct LasHeader {
  unsigned format = 0;  ///< 0 to 10
  bool compressed = false;
  std::size_t record_bytes = 0;
  std::uint64_t data_begin = 0;
  std::uint64_t points = 0;  ///< as the header says: the 64-bit count of 1.4, or the 32-bit one where that is 0
  std::array<double, 3> scale{}, offset{}, origin{};
  std::vector<LasAttribute> attributes = {};  ///< in laspy's order; extra bytes last, arrays as name[0], name[1], ...
  std::vector<std::byte> laszip = {};         ///< the record of VLR "laszip encoded"; empty for LAS
  std::uint64_t head_bytes = 0;               ///< all this was read from so many first bytes
};

bool is_las(std::span<const std::byte> bytes);  ///< not compressed
bool is_laz(std::span<const std::byte> bytes);

/// Nothing where `bytes`, the first of a file, end before all was found. Throws Error: corrupt, where the header is
/// implausible in itself; unsupported, for other versions and point formats.
std::optional<LasHeader> read_las_header(std::span<const std::byte> bytes);
/// As above for a whole file; checks that its records, unless compressed, lie within `length`. Throws Error: corrupt.
LasHeader read_las_file(std::span<const std::byte> bytes, std::uint64_t length);
/// Throws Error: corrupt, naming both numbers, where the header counts more records than `length` bytes hold. Records
/// that the header does not count are not points.
void check_las_points(const LasHeader& header, std::uint64_t length);

/// What an index keeps of a file: a version, head_bytes, and the header with those VLRs alone that say how records are
/// laid out. Empty where `bytes` do not tell.
std::vector<std::byte> recorded_las_header(std::span<const std::byte> bytes);
std::optional<LasHeader> read_recorded_las_header(std::span<const std::byte> recorded);

CloudHeader cloud_header(const LasHeader& header);

}  // namespace penstock
