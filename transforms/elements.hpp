// Converts numbers between dtypes: casts of arrays, labels, boxes and masks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <penstock/schema.hpp>

namespace penstock {

/// out[i] = in[i] for `count` elements, little-endian, neither side aligned. Floating point is rounded to the nearest
/// (ties to even); to integers it is truncated, values out of range become the nearest integer there is and NaN becomes
/// 0; bool is whether the number is not 0.
void convert_elements(const std::byte* in, DType from, std::byte* out, DType to, std::uint64_t count);

/// Whether the dtype is an integer (or bool).
bool is_integer(DType dtype);

}  // namespace penstock
