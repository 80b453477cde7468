// Converts LAS point records in memory to coordinates and attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <transforms/clouds/codecs/las_header.hpp>

namespace penstock {

/// Where the records of some points lie: one behind the other from `first`; or, where `at` is not empty, each at its
/// own number of bytes from there. The caller has checked that they lie in its memory.
struct LasRecords {
  const std::byte* first = nullptr;
  std::size_t stride = 0;
  std::uint64_t count = 0;
  std::span<const std::uint64_t> at = {};
};

/// out[i] = float32((integer * scale + offset) - origin), in float64 up to there.
void las_coordinates(const LasHeader& header, const LasRecords& records, float* out);
/// One element per record, in the dtype delivered.
void las_attribute(const LasAttribute& attribute, const LasRecords& records, std::byte* out);

}  // namespace penstock
