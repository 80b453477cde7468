// Decodes values written as text: class indices, sentences, numbers in JSON.
#pragma once

#include <penstock/codec.hpp>

namespace penstock {

/// "cls": an ASCII decimal integer, with blanks or a newline around it, as an int64 scalar.
const Codec& class_index_codec();

/// "txt": the bytes as they are, (n,) uint8. UTF-8 is not checked.
const Codec& txt_codec();

/// "json": a number, or numbers in arrays of equal length nested to any depth: int64 when all are integers, else
/// float64. An empty array is float64. Throws Error: corrupt (no JSON), unsupported (objects, strings, null, booleans,
/// integers beyond int64), shape (arrays of different lengths).
const Codec& json_codec();

}  // namespace penstock
