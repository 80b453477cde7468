// The table of encodings: facts about a value that follow from its extension or its codec, before any byte is decoded.
// All lists of extensions or codecs, in C++ and in Python, come from this table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock {

/// The kind of content of an encoding.
enum class ValueKind : std::uint8_t {
  image,  ///< pixels
  cloud,  ///< points
  array,  ///< numbers with a dtype and a shape
  text,   ///< text, or a number in text
  other,  ///< anything else
};
std::string_view name(ValueKind kind);  ///< "image", "cloud", "array", "text", "other"

/// Properties of an encoding. Other code checks these instead of the name of a codec or an extension.
struct EncodingTraits {
  bool photograph = false;   ///< a JPEG file, original or re-encoded
  bool jpeg_file = false;    ///< an original JPEG file
  bool array_file = false;   ///< an array with a header that contains its dtype and shape
  bool elements = false;     ///< an array without a header: the schema has its dtype and shape
  bool in_place = false;     ///< elements that are delivered without conversion
  bool tokens = false;       ///< elements that are delivered as int64
  bool label = false;        ///< a class number as text
  bool int_text = false;     ///< usually an integer as text, in the data of WebDataset
  bool free_text = false;    ///< any text, delivered as bytes
  bool members = false;      ///< text of objects with named members
  bool mesh = false;         ///< points that are the corners of triangles
  bool table = false;        ///< text in columns, possibly points
  bool bare_points = false;  ///< possibly rows of float32 without a header, such as the scans of KITTI and nuScenes
};

struct Encoding {
  std::string_view codec;  ///< as in FieldSchema::codec; empty: penstock has no codec and delivers the stored bytes
  ValueKind kind = ValueKind::other;
  /// File extensions in lower case; unused entries are empty. If the encoding has a codec, the first one names its
  /// fields: a file "a.jpeg" has the field "jpg".
  std::array<std::string_view, 3> extensions = {};
  /// The first bytes of every value; '?' matches any byte. Empty if the values have no common first bytes.
  std::string_view magic = {};
  /// True if a file of this kind is a sample, not a note beside one: images, arrays, clouds.
  bool media = false;
  EncodingTraits traits = {};
};

std::span<const Encoding> encodings();
const Encoding* encoding_with_extension(std::string_view extension);  ///< in lower case, without dots; null: unknown
const Encoding* encoding_of_codec(std::string_view codec);  ///< the first one of the codec; null if unknown or empty
/// Unknown and empty names have no traits. tests/layering/include_graph.py finds code that compares names instead.
const EncodingTraits& codec_traits(std::string_view codec);
const EncodingTraits& extension_traits(std::string_view extension);  ///< likewise
/// Kind of the values of a codec: `other` for a custom codec and for an empty name.
ValueKind kind_of_codec(std::string_view codec);
/// Returns whether `bytes` begin with the magic of the encoding. False if the encoding has no magic.
bool begins_as(const Encoding& encoding, std::span<const std::byte> bytes);

}  // namespace penstock
