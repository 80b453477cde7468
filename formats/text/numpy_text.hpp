// Makes the header that turns plain elements into a .npy value.
#pragma once

#include <string>

#include <penstock/schema.hpp>

namespace penstock {

/// The header for little-endian elements in C order: "\x93NUMPY", version 1.0, and the dictionary, padded so that the
/// elements begin at a multiple of 64 bytes. Throws Error: unsupported, for bfloat16, which has no NumPy code. Source:
/// NumPy NEP 1.
std::string npy_header_text(DType dtype, const Shape& shape);

}  // namespace penstock
