// Makes a piece whose bytes stand in the index itself.
#pragma once

#include <cstddef>
#include <span>

#include <formats/extent.hpp>

namespace penstock {

/// Borrows `bytes`; IndexBuilder::set copies them.
inline Piece inline_piece(std::span<const std::byte> bytes) {
  return {.kind = Piece::Kind::bytes, .length = bytes.size(), .inline_bytes = bytes};
}

}  // namespace penstock
