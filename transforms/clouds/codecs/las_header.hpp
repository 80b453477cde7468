// Reads the header of a LAS or LAZ file: the number of records, their place and their content.
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

/// A LAS header. `origin` is delivered as CloudHeader::origin. On each axis, it is the lower bound in the header if
/// that bound is finite, not above the upper bound, and within 2^31 scale steps of the header's offset. Otherwise it is
/// that offset. move_origin() corrects it where the first point shows that the bounds are wrong.
struct LasHeader {
  unsigned format = 0;  ///< 0 to 10
  bool compressed = false;
  std::size_t record_bytes = 0;
  std::uint64_t data_begin = 0;
  std::uint64_t points = 0;  ///< the header's 64-bit count (LAS 1.4), or the 32-bit one if that is 0
  std::array<double, 3> scale{}, offset{}, lower{}, upper{}, origin{};
  std::vector<LasAttribute> attributes = {};  ///< in laspy's order; extra bytes last, arrays as name[0], name[1], ...
  std::vector<std::byte> laszip = {};         ///< content of the VLR "laszip encoded"; empty for LAS
  std::uint64_t head_bytes = 0;               ///< number of bytes at the file's start that contain all of this
};

bool is_las(std::span<const std::byte> bytes);  ///< not compressed
bool is_laz(std::span<const std::byte> bytes);

/// Returns nothing if `bytes`, the start of a file, end before the header is complete. Throws Error: corrupt, if the
/// header is invalid; unsupported, for other versions and point formats.
std::optional<LasHeader> read_las_header(std::span<const std::byte> bytes);
/// Reads the header of a whole file. Checks that uncompressed records end within `length`. Throws Error: corrupt.
LasHeader read_las_file(std::span<const std::byte> bytes, std::uint64_t length);
/// Throws Error: corrupt, with both numbers, if the header counts more records than `length` bytes hold.
void check_las_points(const LasHeader& header, std::uint64_t length);

constexpr std::size_t kLasPosition = 12;  ///< bytes of X, Y and Z, at the start of each record

/// Moves the origin near the cloud, given the first record. Wrong bounds in the header may put the origin so far away
/// that float32 rounds coordinates. On each axis, the first point shows this if it is outside the bounds by more than a
/// scale step, and more than 2^23 scale steps from the origin. The origin then becomes the integer below that point.
/// `record` has at least kLasPosition bytes.
void move_origin(LasHeader& header, std::span<const std::byte> record);

/// Returns the bytes that an index stores: a version, head_bytes, and the header with only the VLRs that describe the
/// layout of records. Returns an empty vector if `bytes` do not contain the whole header.
std::vector<std::byte> recorded_las_header(std::span<const std::byte> bytes);
std::optional<LasHeader> read_recorded_las_header(std::span<const std::byte> recorded);

CloudHeader cloud_header(const LasHeader& header);

}  // namespace penstock
