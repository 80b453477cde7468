// Compares two indexes of a shard, and names the first difference.
#pragma once

#include <optional>
#include <string>

#include <formats/index/index.hpp>

namespace penstock {

/// The first thing that `index` tells otherwise than `other`: samples, keys, fields, places and lengths of values, and
/// the bytes that stand in the index itself. Stamps of files and checksums do not count. Nothing where both tell the
/// same.
std::optional<std::string> index_difference(const Index& index, const Index& other);

}  // namespace penstock
