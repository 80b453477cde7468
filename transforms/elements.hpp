// Converts numbers between dtypes: casts of arrays, labels, boxes and masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <penstock/schema.hpp>

namespace penstock {

/// Sets out[i] to in[i] for `count` elements, little-endian, unaligned. Floating point is rounded to nearest, ties to
/// even. Conversions to integers truncate, clamp to the type's range, and turn NaN into 0. bool is whether the number
/// is not 0.
void convert_elements(const std::byte* in, DType from, std::byte* out, DType to, std::uint64_t count);

/// Returns whether the dtype is an integer type or bool.
bool is_integer(DType dtype);

/// One element of some dtype.
struct Element {
  std::size_t bytes = 1;
  std::array<std::byte, 8> value{};  ///< in its first bytes
  /// Repeats the element; `place` must hold whole elements.
  void fill(std::span<std::byte> place) const;
};

/// The number as an element of the dtype. Returns nothing if the dtype cannot represent the number: integers and bool
/// must be equal to it, and a finite number must not become infinite.
std::optional<Element> element_of(DType dtype, double number);
std::optional<Element> element_of(DType dtype, std::int64_t number);

}  // namespace penstock
