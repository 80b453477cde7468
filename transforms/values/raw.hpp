// Decodes elements stored one after the other, little-endian, without a header.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers the schema's dtype and shape where it is fixed, else (n,) elements of its dtype, or (n, ...) rows where the
/// schema has a shape. select() names only the rows asked for. Throws Error: shape, when the bytes are not that many
/// elements.
const Codec& raw_codec();

}  // namespace penstock
