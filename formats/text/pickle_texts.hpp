// Parses the texts and numbers of pickles. Private to pickle*.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// All functions throw Error: corrupt, for values that no pickler writes; unsupported, for integers above 64 bits.

/// Parses an integer in two's complement, little-endian, of any length.
std::int64_t pickled_long(std::string_view bytes);
/// Parses decimal digits, with or without the L of Python 2.
std::int64_t pickled_integer(std::string_view digits);
double pickled_real(std::string_view digits);

/// Reads a str of protocol 0, in "raw-unicode-escape". Returns UTF-8.
std::string unescaped(std::string_view line);
/// Reads a str of Python 2 in protocol 0, a literal such as 'cat\'s \x00'. Returns its bytes.
std::string unquoted(std::string_view line);
/// Returns one byte for each code point of UTF-8 text.
std::string latin1_of(std::string_view text);

/// Appends a code point in UTF-8. Surrogates become three bytes, as Python's "surrogatepass" writes them.
void append_utf8(std::string& text, std::uint32_t code);

}  // namespace penstock
