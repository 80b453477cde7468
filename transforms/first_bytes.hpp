// Finds the codec or a file extension by a value's first bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <penstock/codec.hpp>

namespace penstock {

/// Returns the codec that recognises the bytes, else null. Never returns codecs that accept any bytes.
const Codec* recognised_codec(std::span<const std::byte> first_bytes);

/// Returns whether a loader without a chain delivers the value as it is stored: text, and values without a codec.
bool is_delivered_as_stored(const FieldSchema& schema, std::span<const std::byte> first_bytes);

/// Returns the extension of the first codec that recognises the bytes. Otherwise returns the extension with this magic
/// in the table of encodings, or an empty string. 4 KiB of a value are enough.
std::string_view extension_of(std::span<const std::byte> first_bytes);

}  // namespace penstock
