// Decompresses scale-offset, HDF5 filter 6: integers, or floats with a fixed number of decimals, as small differences
// from the smallest element of a block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <formats/extent.hpp>

namespace penstock {

/// Bytes before the packed elements.
inline constexpr std::uint64_t kScaleOffsetHeader = 21;

struct ScaleOffset {
  std::uint32_t element = 0;  ///< bytes of an element: 1, 2, 4 or 8; of a float 4 or 8
  bool floats = false;
  bool big_endian = false;            ///< the byte order of the plain elements
  std::int32_t decimals = 0;          ///< of floats
  std::optional<std::uint64_t> fill;  ///< the bits of the fill value, if the dataset has one
};

/// Convert to Filter::Id::scale_offset with its operands, and back. `filters` begins with that filter. The second
/// throws Error: corrupt, for invalid parameters or missing operands.
std::array<Filter, 4> scale_offset_filters(const ScaleOffset& parameters);
ScaleOffset scale_offset_parameters(std::span<const Filter> filters);

/// Fills `plain`. Thread-safe. Throws Error: corrupt (a block that is too short, or has an invalid number of bits).
///
///   | bits u32 | bytes of the smallest element u8 | smallest element, 16 bytes | packed elements |
///
/// A packed element has the given number of bits, the highest first, and no padding. An integer is stored as the
/// difference from the smallest element. For floats, this difference is multiplied by 10^decimals. The largest
/// number represents the fill value. If `bits` is the number of bits of an element, the elements are unchanged, in
/// little-endian order. Source: H5Zscaleoffset.c of HDF5 1.10.
void scale_offset_decompress(std::span<const std::byte> stored, std::span<std::byte> plain,
                             const ScaleOffset& parameters);

}  // namespace penstock
