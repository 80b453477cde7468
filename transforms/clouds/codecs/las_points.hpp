// Converts LAS point records in memory to coordinates and attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <transforms/clouds/codecs/las_header.hpp>

namespace penstock {

/// The records of some points. They are contiguous from `first`, or, if `at` is not empty, at these byte offsets from
/// `first`. The caller has checked that all of them are inside its memory.
struct LasRecords {
  const std::byte* first = nullptr;
  std::size_t stride = 0;
  std::uint64_t count = 0;
  std::span<const std::uint64_t> at = {};
};

/// out[i] = float32((integer * scale + offset) - origin), computed in float64 before the conversion.
void las_coordinates(const LasHeader& header, const LasRecords& records, float* out);
/// Writes one element per record, in the delivered dtype.
void las_attribute(const LasAttribute& attribute, const LasRecords& records, std::byte* out);

}  // namespace penstock
