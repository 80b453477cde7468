// Decodes values written as text: class indexes, sentences, numbers in JSON.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// "cls": an ASCII decimal integer with optional blanks or a newline around it, as an int64 scalar.
const Codec& class_index_codec();

/// "txt": the bytes unchanged, (n,) uint8. Does not validate UTF-8.
const Codec& txt_codec();

/// "json": a number, or numbers in arrays of equal length nested to any depth. Delivers int64 if all numbers are
/// integers, else float64. An empty array is float64. Throws Error: corrupt (invalid JSON), unsupported (objects,
/// strings, null, booleans, integers beyond int64), shape (arrays of different lengths).
const Codec& json_codec();

}  // namespace penstock
