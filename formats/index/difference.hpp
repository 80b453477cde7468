// Compares two indexes of a shard, and describes the first difference.
#pragma once

#include <optional>
#include <string>

#include <formats/index/index.hpp>

namespace penstock {

/// Returns the first difference between `index` and `other`: samples, keys, fields, locations and lengths of values,
/// and bytes stored in the index. Ignores stamps of files and checksums. Returns nothing if both are equal.
std::optional<std::string> index_difference(const Index& index, const Index& other);

}  // namespace penstock
