// Finds a file extension by a value's first bytes, for values without a name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace penstock {

/// Returns the extension of the first codec that recognises the bytes. Otherwise returns the extension with this magic
/// in the table of encodings, or an empty string. 4 KiB of a value are enough.
std::string_view extension_of(std::span<const std::byte> first_bytes);

}  // namespace penstock
