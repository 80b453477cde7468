// The header of a .npy file: a Python dictionary in a few bytes of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <penstock/schema.hpp>

namespace penstock {

struct NpyHeader {
  DType dtype;
  Shape shape;
  bool swapped;                     ///< big-endian
  bool fortran;                     ///< the first index varies fastest; false below two dimensions
  std::size_t data_begin;           ///< bytes before the first element
  std::uint64_t row_bytes() const;  ///< of one index of the first dimension; of the scalar if there is none
};

/// bytes: "\x93NUMPY" major minor length(u16; u32 from version 2 on) "{'descr': '<f4', 'fortran_order': False, ...}"
/// Throws Error: corrupt, unsupported. The shape's byte count fits 64 bits.
NpyHeader read_npy_header(std::span<const std::byte> bytes);

/// Copies an array that is stored in Fortran order to C order. Both hold element_count(shape) elements of 1, 2, 4 or 8
/// bytes. They need no alignment and must not overlap.
void to_c_order(const std::byte* fortran, std::byte* c, const Shape& shape, std::size_t element_bytes);

}  // namespace penstock
