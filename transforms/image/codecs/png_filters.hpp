// Reverses PNG's row filters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// Reverses the filter `type` of one row in place. `above` is the previous row, or zeros for the first row.
/// `pixel_bytes`, at least 1, is the distance to the pixel on the left. Returns false if the filter type is unknown.
/// Source: PNG specification, third edition, section 9 (Filtering).
bool undo_png_filter(std::uint8_t type, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes,
                     std::size_t pixel_bytes);

}  // namespace penstock
