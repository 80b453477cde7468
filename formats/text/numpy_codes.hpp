// Translates the codes by which NumPy names element types: "<f4", "|u1".
#pragma once

#include <optional>
#include <string_view>

#include <penstock/schema.hpp>

namespace penstock {

/// The type that a code names behind its byte order ("f4", "u1"); nothing for what is not plain numbers.
/// Source: NumPy, "The array interface protocol", typestr.
std::optional<DType> dtype_of_numpy(std::string_view code);

/// The code of little-endian elements, with the byte order: "<f4"; "|u1" where there is none.
/// Throws Error: unsupported, for bf16.
std::string_view numpy_code(DType dtype);

}  // namespace penstock
