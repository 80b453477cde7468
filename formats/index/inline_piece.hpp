// Makes a piece whose bytes are stored in the index.
#pragma once

#include <cstddef>
#include <span>

#include <formats/extent.hpp>

namespace penstock {

/// Refers to `bytes` without a copy. IndexBuilder::set copies them.
inline Piece inline_piece(std::span<const std::byte> bytes) {
  return {.kind = Piece::Kind::bytes, .length = bytes.size(), .inline_bytes = bytes};
}

}  // namespace penstock
