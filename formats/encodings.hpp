// The table of encodings: what is known of a value by its extension or its codec's name, before its bytes are decoded.
// Every list of extensions or codecs asks this table, in C++ and in Python.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock {

/// What a value of an encoding is.
enum class ValueKind : std::uint8_t {
  image,  ///< pixels
  cloud,  ///< points
  array,  ///< numbers of a dtype and shape
  text,   ///< text, or a number in text
  other,  ///< anything else
};
std::string_view name(ValueKind kind);  ///< "image", "cloud", "array", "text", "other"

struct Encoding {
  std::string_view codec;  ///< as in FieldSchema::codec; empty: penstock has no codec and delivers the bytes as stored
  ValueKind kind = ValueKind::other;
  /// Extensions of files, in lower case; unused ones are empty. Of an encoding with a codec the first one is the name
  /// of its fields: a file "a.jpeg" has the field "jpg".
  std::array<std::string_view, 3> extensions = {};
  /// The bytes that every value begins with, '?' being any byte; empty where values do not share a beginning.
  std::string_view magic = {};
  /// A file of this kind is a sample of its own, not a note beside one: images, arrays, clouds.
  bool media = false;
};

std::span<const Encoding> encodings();
const Encoding* encoding_with_extension(std::string_view extension);  ///< in lower case, without dots; null: unknown
const Encoding* encoding_of_codec(std::string_view codec);  ///< the first one of the codec; null: unknown, or no name
/// What values of a codec are; `other` for a codec of the user's own and for an empty name.
ValueKind kind_of_codec(std::string_view codec);
/// Whether `bytes` begin with the magic of the encoding. False where it has none.
bool begins_as(const Encoding& encoding, std::span<const std::byte> bytes);

}  // namespace penstock
