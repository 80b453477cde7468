// Decodes consecutive little-endian elements without a header.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers the schema's dtype and shape if it is fixed. Otherwise delivers (n,) elements of its dtype, or (n, ...)
/// rows if the schema has a shape. select() returns only the requested rows. Throws Error: shape, if the number of
/// bytes does not fit.
const Codec& raw_codec();

}  // namespace penstock
