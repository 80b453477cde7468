// Undoes PNG's row filters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// Undoes the filter `type` of one row in place. `above` is the row before, of zeros for the first one; `pixel_bytes`
/// is the distance to the pixel on the left, at least 1. False when there is no such filter. Source: PNG specification,
/// third edition, section 9 (Filtering).
bool undo_png_filter(std::uint8_t type, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes,
                     std::size_t pixel_bytes);

}  // namespace penstock
