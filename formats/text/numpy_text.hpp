// Makes the header that turns plain elements into a .npy value.
#pragma once

#include <string>

#include <penstock/schema.hpp>

namespace penstock {

/// For elements in C order, little-endian: "\x93NUMPY", version 1.0, and the dictionary,
/// padded so that the elements begin at a multiple of 64 bytes. bfloat16 has no NumPy code. Throws Error: unsupported.
/// Source: NumPy NEP 1.
std::string npy_header_text(DType dtype, const Shape& shape);

}  // namespace penstock
