// Names the extension that a value's first bytes call for, for values that come without a name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace penstock {

/// The extension of the first codec that recognises the bytes, else that of the magic in the table of encodings; empty
/// where neither tells. 4 KiB of a value are enough.
std::string_view extension_of(std::span<const std::byte> first_bytes);

}  // namespace penstock
