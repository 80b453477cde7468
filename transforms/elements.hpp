// Converts numbers between dtypes: casts of arrays, labels, boxes and masks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <penstock/schema.hpp>

namespace penstock {

/// Sets out[i] to in[i] for `count` elements, little-endian, unaligned. Floating point is rounded to nearest, ties to
/// even. Conversions to integers truncate, clamp to the type's range, and turn NaN into 0. bool is whether the number
/// is not 0.
void convert_elements(const std::byte* in, DType from, std::byte* out, DType to, std::uint64_t count);

/// Returns whether the dtype is an integer type or bool.
bool is_integer(DType dtype);

}  // namespace penstock
