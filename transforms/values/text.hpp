// Decodes values written as text: class indexes, sentences, numbers in JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <penstock/codec.hpp>

namespace penstock {

/// Returns the decimal integer in a text. Ignores a byte order mark, and blanks and line ends around the integer.
/// Returns nothing if the text holds anything else, or a number beyond int64.
std::optional<std::int64_t> integer_in(std::span<const std::byte> bytes);

/// "cls": an ASCII decimal integer with optional blanks or a newline around it, as an int64 scalar.
const Codec& class_index_codec();

/// "txt": the bytes unchanged, (n,) uint8. Does not validate UTF-8.
const Codec& txt_codec();

/// "json": a number, or numbers in arrays of equal length nested to any depth. Delivers int64 if all numbers are
/// integers, else float64. An empty array is float64. Throws Error: corrupt (invalid JSON), unsupported (objects,
/// strings, null, booleans, integers beyond int64), shape (arrays of different lengths).
const Codec& json_codec();

}  // namespace penstock
