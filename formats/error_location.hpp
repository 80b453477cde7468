// Tells where a value of a dataset lies, for error messages.
#pragma once

#include <cstdint>

#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

namespace penstock {

/// Where a block's stored bytes lie; of a mosaic, those of its first tile.
Extent stored_extent(const Dataset& dataset, std::uint32_t block);

/// The file (inside the dataset) and the offset in it that the field's first piece comes from, with dataset, key and
/// field; in a folder of files each is its own shard. The offset is unknown for values that lie in no extent.
ErrorContext error_location(const Dataset& dataset, std::uint64_t sample, std::uint32_t field);

}  // namespace penstock
