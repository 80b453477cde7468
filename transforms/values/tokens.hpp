// Decodes token numbers: integers stored in few bytes, delivered as int64.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// Delivers int64 of the schema's shape, or (n,) where that is not fixed; stored are integers of the schema's dtype,
/// little-endian. uint64 beyond int64's largest number becomes that. Throws Error: shape, when the bytes are not that
/// many elements; unsupported, where the schema's dtype is no integer.
const Codec& tokens_codec();

}  // namespace penstock
