#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <penstock/error.hpp>
#include <transforms/clouds/codecs/ply_header.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostLines = 4096;  // of elements and properties; more mean a broken file

constexpr std::array<std::pair<std::string_view, DType>, 18> kTypes{{{"char", DType::i8},
                                                                     {"uchar", DType::u8},
                                                                     {"short", DType::i16},
                                                                     {"ushort", DType::u16},
                                                                     {"int", DType::i32},
                                                                     {"uint", DType::u32},
                                                                     {"float", DType::f32},
                                                                     {"double", DType::f64},
                                                                     {"int8", DType::i8},
                                                                     {"uint8", DType::u8},
                                                                     {"int16", DType::i16},
                                                                     {"uint16", DType::u16},
                                                                     {"int32", DType::i32},
                                                                     {"uint32", DType::u32},
                                                                     {"float32", DType::f32},
                                                                     {"float64", DType::f64},
                                                                     {"int64", DType::i64},
                                                                     {"uint64", DType::u64}}};

DType type_named(const TextReader& reader, std::string_view name) {
  for (const auto& [known, dtype] : kTypes) {
    if (known == name) return dtype;
  }
  reader.fail("unknown type '" + std::string(name.substr(0, 40)) + "'");
}

PlyHeader::Encoding encoding_of(TextReader& reader) {
  const std::string_view name = reader.word_of_line(), version = reader.word_of_line();
  if (version != "1.0") throw Error::unsupported("ply: version '" + std::string(version.substr(0, 40)) + "'");
  if (name == "ascii") return PlyHeader::Encoding::ascii;
  if (name == "binary_little_endian") return PlyHeader::Encoding::little;
  if (name == "binary_big_endian") return PlyHeader::Encoding::big;
  reader.fail("unknown format '" + std::string(name.substr(0, 40)) + "'");
}

PlyProperty property_of(TextReader& reader) {
  PlyProperty property{};
  std::string_view word = reader.word_of_line();
  if (word == "list") {
    property.length = type_named(reader, reader.word_of_line());
    if (*property.length == DType::f32 || *property.length == DType::f64)
      reader.fail("the length of a list must have an integer type");
    word = reader.word_of_line();
  }
  property.dtype = type_named(reader, word);
  property.name = reader.word_of_line();
  if (property.name.empty()) reader.fail("a property has no name");
  return property;
}

}  // namespace

bool PlyElement::has_lists() const {
  for (const PlyProperty& property : properties) {
    if (property.length) return true;
  }
  return false;
}

std::uint64_t PlyElement::least_bytes() const {
  std::uint64_t bytes = 0;
  for (const PlyProperty& property : properties) bytes += size_of(property.length.value_or(property.dtype));
  return bytes;
}

bool is_ply(std::span<const std::byte> bytes) {
  constexpr std::string_view kEnds = "\n\r \t";
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "ply", 3) == 0 &&
         kEnds.find(static_cast<char>(bytes[3])) != std::string_view::npos;
}

PlyHeader read_ply_header(std::span<const std::byte> bytes) {
  if (!is_ply(bytes)) throw Error::corrupt("ply: does not begin with 'ply'");
  // If lines end with "\r" only, so does the header's last line. A data byte "\n" after it then belongs to the data,
  // not to a line end "\r\n".
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const std::size_t first_end = std::string_view(text, bytes.size()).find_first_of("\r\n");
  const bool carriage = first_end < bytes.size() - 1 && text[first_end] == '\r' && text[first_end + 1] != '\n';
  TextReader reader("ply", bytes);
  reader.next_line();
  PlyHeader header;
  bool formatted = false;
  std::size_t lines = 0;
  for (;;) {
    if (reader.at_end()) throw Error::corrupt("ply: ends inside the header");
    const std::string_view word = reader.word_of_line();
    if (word == "end_header") break;
    if (word == "format") {
      header.encoding = encoding_of(reader);
      formatted = true;
    } else if (word == "element") {
      const std::string name(reader.word_of_line());
      header.elements.push_back({name, count_of(reader, reader.word_of_line()), {}});
    } else if (word == "property") {
      if (header.elements.empty()) reader.fail("a property comes before the first element");
      header.elements.back().properties.push_back(property_of(reader));
    } else if (!word.empty() && word != "comment" && word != "obj_info") {
      reader.fail("'" + std::string(word.substr(0, 40)) + "' is not part of a header");
    }
    if ((word == "element" || word == "property") && ++lines > kMostLines) {
      throw Error::unsupported("ply: more than 4,096 lines of elements and properties");
    }
    reader.next_line();
  }
  reader.next_line();
  header.data_begin = reader.position();
  if (carriage && text[header.data_begin - 1] == '\n') --header.data_begin;
  header.data_line = reader.line();
  if (!formatted) throw Error::corrupt("ply: the header has no format");
  while (header.vertex < header.elements.size() && header.elements[header.vertex].name != "vertex") ++header.vertex;
  if (header.vertex == header.elements.size()) throw Error::unsupported("ply: the header has no element 'vertex'");
  return header;
}

}  // namespace penstock
