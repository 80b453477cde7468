// Finds the location of a value of a dataset, for error messages.
#pragma once

#include <cstdint>

#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

namespace penstock {

/// Extent of a block's stored bytes. For a mosaic, the extent of its first tile.
Extent stored_extent(const Dataset& dataset, std::uint32_t block);

/// Returns the file (inside the dataset) and the offset of the field's first piece, with dataset, key and field. In a
/// folder of files, each file is its own shard. The offset is unknown if the value is not stored in an extent.
ErrorContext error_location(const Dataset& dataset, std::uint64_t sample, std::uint32_t field);

}  // namespace penstock
