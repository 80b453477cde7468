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

/// Other code asks these instead of the name of a codec or an extension.
struct EncodingTraits {
  bool photograph = false;   ///< a JPEG file, as it is or recoded
  bool jpeg_file = false;    ///< a JPEG file as it is
  bool array_file = false;   ///< an array with a header that has its dtype and shape
  bool elements = false;     ///< an array without a header: the schema has its dtype and shape
  bool in_place = false;     ///< elements that are delivered as they are stored
  bool tokens = false;       ///< elements that are delivered as int64
  bool label = false;        ///< the number of a class, as text
  bool free_text = false;    ///< any text, which is delivered as bytes
  bool members = false;      ///< text with objects that have named members
  bool mesh = false;         ///< points that are corners of triangles
  bool table = false;        ///< text in columns, which may be points
  bool bare_points = false;  ///< may be rows of float32 and nothing else: scans as KITTI and nuScenes have them
};

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
  EncodingTraits traits = {};
};

std::span<const Encoding> encodings();
const Encoding* encoding_with_extension(std::string_view extension);  ///< in lower case, without dots; null: unknown
const Encoding* encoding_of_codec(std::string_view codec);  ///< the first one of the codec; null: unknown, or no name
/// Unknown and empty names have no traits. tests/layering/include_graph.py finds code that compares the names instead.
const EncodingTraits& codec_traits(std::string_view codec);
const EncodingTraits& extension_traits(std::string_view extension);  ///< likewise
/// What values of a codec are; `other` for a codec of the user's own and for an empty name.
ValueKind kind_of_codec(std::string_view codec);
/// Whether `bytes` begin with the magic of the encoding. False where it has none.
bool begins_as(const Encoding& encoding, std::span<const std::byte> bytes);

}  // namespace penstock
