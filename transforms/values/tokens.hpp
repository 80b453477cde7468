// Decodes token numbers: integers stored in few bytes, delivered as int64.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers int64 of the schema's shape, or (n,) if the shape is not fixed. Values consist of little-endian integers of
/// the schema's dtype. uint64 beyond int64's maximum becomes that maximum. Throws Error: shape, if the number of bytes
/// does not fit; unsupported, if the schema's dtype is not an integer type.
const Codec& tokens_codec();

}  // namespace penstock
