// Translates NumPy's codes of element types: "<f4", "|u1".
#pragma once

#include <optional>
#include <string_view>

#include <penstock/schema.hpp>

namespace penstock {

/// Returns the type of a code without its byte order ("f4", "u1"). Returns nothing if the code does not mean plain
/// numbers. Source: NumPy, "The array interface protocol", typestr.
std::optional<DType> dtype_of_numpy(std::string_view code);

/// Returns the code of little-endian elements with the byte order: "<f4", or "|u1" if the type has none. Throws Error:
/// unsupported, for bf16.
std::string_view numpy_code(DType dtype);

}  // namespace penstock
