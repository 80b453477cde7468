// Undoing what a container did to a block's bytes. Pure functions over memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <penstock/formats/extent.hpp>

namespace penstock {

/// Turns the stored bytes of a block into its plain ones: exactly block.decoded_length bytes into `decoded`.
/// `scratch` is grown as needed and may be reused. Throws Error: corrupt (a filter's data is broken or of the wrong
/// length, a checksum differs); unsupported (a filter not known here).
/// Source: HDF5 File Format Specification 3.0, section IV.A.2.l "Data Storage - Filter Pipeline"; deflate is RFC 1950.
void undo_filters(const Block& block, std::span<const std::byte> stored, std::span<std::byte> decoded,
                  std::vector<std::byte>& scratch);

}  // namespace penstock
