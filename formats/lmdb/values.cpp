#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include <formats/lmdb/values.hpp>
#include <formats/text/numpy_codes.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kProbed = 8;
constexpr unsigned kDeepest = 16;
constexpr std::uint64_t kAhead = 16 << 10;  // small, because payloads are skipped: only the headers of a few records
constexpr std::uint64_t kMostMembers = 256, kMostDimensions = 16, kLongestName = 255;

// Parses "int32", or a typestr of NumPy's array interface: "<f4", "|u1". Returns nothing for anything else than
// little-endian plain numbers.
std::optional<DType> element_type(std::string_view text) {
  if (const auto named = dtype_named(text)) return named;
  if (text.size() != 3 || (text[0] != '<' && text[0] != '|' && text[0] != '=')) return std::nullopt;
  return dtype_of_numpy(text.substr(1));
}

/// Reads one value. Throws Error: corrupt, for reads past its end.
class Cursor {
 public:
  Cursor(HeaderWindow& file, const LmdbListing::Value& value)
      : file_(file), at_(value.offset), end_(value.offset + value.size) {}

  bool at_end() const { return at_ == end_; }

  std::uint8_t byte() {
    require(1);
    return std::to_integer<std::uint8_t>(file_.read(at_++, 1, kAhead).front());
  }

  /// Returns the offset of the skipped bytes.
  std::uint64_t skip(std::uint64_t count) {
    require(count);
    return std::exchange(at_, at_ + count);
  }

  std::uint64_t big_endian(unsigned bytes) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < bytes; ++i) number = number << 8 | byte();
    return number;
  }

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      number |= std::uint64_t{part & 0x7FU} << shift;
      if ((part & 0x80) == 0) return number;
    }
    throw Error::corrupt("a number of more than 64 bits");
  }

  std::string text(std::uint64_t length) {
    require(length);
    if (length > kLongestName) throw Error::corrupt("a name of " + std::to_string(length) + " bytes");
    std::string text;
    for (std::uint64_t i = 0; i < length; ++i) text.push_back(static_cast<char>(byte()));
    return text;
  }

 private:
  void require(std::uint64_t count) const {
    if (count > end_ - at_) throw Error::corrupt("the record extends past the end of its value");
  }

  HeaderWindow& file_;
  std::uint64_t at_;
  const std::uint64_t end_;
};

/// The head of a msgpack value: kind and size.
struct Packed {
  enum class Kind { nil, boolean, integer, real, text, binary, array, map, extension };
  Kind kind;
  std::uint64_t size = 0;    ///< number of bytes, elements or pairs that follow
  std::int64_t integer = 0;  ///< also holds booleans
  double real = 0;
};

Packed sized(Packed::Kind kind, Cursor& cursor, unsigned bytes) {
  return {.kind = kind, .size = cursor.big_endian(bytes)};
}

Packed real(Cursor& cursor, unsigned bytes) {
  const std::uint64_t bits = cursor.big_endian(bytes);
  const double value = bytes == 8 ? std::bit_cast<double>(bits)
                                  : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return {.kind = Packed::Kind::real, .real = value};
}

Packed integer(Cursor& cursor, unsigned bytes, bool is_signed) {
  const std::uint64_t bits = cursor.big_endian(bytes);
  const unsigned unused = 64 - 8 * bytes;
  const std::int64_t value =
      is_signed ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
  return {.kind = Packed::Kind::integer, .integer = value};
}

Packed head_of(Cursor& cursor) {
  using Kind = Packed::Kind;
  const std::uint8_t first = cursor.byte();
  if (first < 0x80) return {.kind = Kind::integer, .integer = first};
  if (first < 0x90) return {.kind = Kind::map, .size = first & 0x0FU};
  if (first < 0xA0) return {.kind = Kind::array, .size = first & 0x0FU};
  if (first < 0xC0) return {.kind = Kind::text, .size = first & 0x1FU};
  if (first >= 0xE0) return {.kind = Kind::integer, .integer = static_cast<std::int8_t>(first)};
  const auto width = [first](std::uint8_t base) { return 1U << (first - base); };
  if (first == 0xC0) return {.kind = Kind::nil};
  if (first == 0xC2 || first == 0xC3) return {.kind = Kind::boolean, .integer = first & 1};
  if (first >= 0xC4 && first <= 0xC6) return sized(Kind::binary, cursor, width(0xC4));
  if (first == 0xCA || first == 0xCB) return real(cursor, first == 0xCA ? 4 : 8);
  if (first >= 0xCC && first <= 0xCF) return integer(cursor, width(0xCC), false);
  if (first >= 0xD0 && first <= 0xD3) return integer(cursor, width(0xD0), true);
  if (first >= 0xD9 && first <= 0xDB) return sized(Kind::text, cursor, width(0xD9));
  if (first >= 0xDC && first <= 0xDD) return sized(Kind::array, cursor, 2 * width(0xDC));
  if (first >= 0xDE) return sized(Kind::map, cursor, 2 * width(0xDE));
  if (first >= 0xD4 && first <= 0xD8) return {.kind = Kind::extension, .size = 1 + width(0xD4)};
  if (first >= 0xC7 && first <= 0xC9) {
    Packed extension = sized(Kind::extension, cursor, width(0xC7));
    ++extension.size;  // includes its type byte
    return extension;
  }
  throw Error::corrupt("an invalid msgpack byte");
}

void skip_rest(Cursor& cursor, const Packed& head, unsigned depth) {
  using Kind = Packed::Kind;
  if (depth > kDeepest) throw Error::corrupt("msgpack nested more than " + std::to_string(kDeepest) + " deep");
  if (head.kind == Kind::text || head.kind == Kind::binary || head.kind == Kind::extension) cursor.skip(head.size);
  if (head.kind != Kind::array && head.kind != Kind::map) return;
  const std::uint64_t count = head.kind == Kind::map ? 2 * head.size : head.size;
  for (std::uint64_t i = 0; i < count; ++i) skip_rest(cursor, head_of(cursor), depth + 1);
}

std::string name_in(Cursor& cursor) {
  const Packed head = head_of(cursor);
  if (head.kind != Packed::Kind::text && head.kind != Packed::Kind::binary)
    throw Error::corrupt("a msgpack map with a key that is not text");
  return cursor.text(head.size);
}

std::optional<Shape> shape_in(Cursor& cursor, const Packed& head) {
  if (head.kind != Packed::Kind::array || head.size > kMostDimensions) {
    skip_rest(cursor, head, 0);
    return std::nullopt;
  }
  std::optional<Shape> shape = Shape{};
  for (std::uint64_t i = 0; i < head.size; ++i) {
    const Packed side = head_of(cursor);
    if (side.kind == Packed::Kind::integer && side.integer >= 0 && shape) {
      shape->push_back(side.integer);
    } else {
      skip_rest(cursor, side, 0);
      shape.reset();
    }
  }
  return shape;
}

/// Parses a map of type, shape and data. Returns nothing for other maps.
std::optional<RecordField::Elements> array_in(Cursor& cursor, std::uint64_t pairs) {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> data;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::string name = name_in(cursor);
    const Packed head = head_of(cursor);
    const bool bytes = head.kind == Packed::Kind::text || head.kind == Packed::Kind::binary;
    if ((name == "type" || name == "dtype") && bytes && head.size <= kLongestName) {
      dtype = element_type(cursor.text(head.size));
    } else if (name == "shape") {
      shape = shape_in(cursor, head);
    } else if (name == "data" && bytes) {
      data = {cursor.skip(head.size), head.size};
    } else {
      skip_rest(cursor, head, 0);
    }
  }
  if (!dtype || !shape || !data) return std::nullopt;
  if (element_count(*shape) * size_of(*dtype) != data->second)
    throw Error::corrupt("an array of shape " + to_string(*shape) + " in " + std::to_string(data->second) + " bytes");
  return RecordField::Elements{.dtype = *dtype, .shape = *shape, .offset = data->first, .length = data->second};
}

std::string shortest(double value) {
  std::string text(32, '\0');
  std::snprintf(text.data(), text.size(), "%.17g", value);
  text.resize(std::strlen(text.c_str()));
  return text;
}

// Fields of Datum: optional int32 channels = 1, height = 2, width = 3; bytes data = 4; int32 label = 5; repeated float
// float_data = 6; bool encoded = 7.
std::uint64_t read_datum(Cursor cursor, std::vector<RecordField>& fields) {
  enum WireType : unsigned { kVarint = 0, kBytes = 2, kFixed32 = 5 };
  std::uint64_t sides[3] = {}, label = 0;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> data;
  bool floats = false, encoded = false;
  while (!cursor.at_end()) {
    const std::uint64_t tag = cursor.varint();
    const std::uint64_t number = tag >> 3;
    if ((tag & 7) == kVarint && number >= 1 && number <= 7 && number != 4 && number != 6) {
      const std::uint64_t read = cursor.varint();
      if (number <= 3) sides[number - 1] = read;
      if (number == 5) label = read;
      if (number == 7) encoded = read != 0;
    } else if ((tag & 7) == kBytes && (number == 4 || number == 6)) {
      const std::uint64_t length = cursor.varint();
      const std::uint64_t begin = cursor.skip(length);
      if (number == 4) data = {begin, length};
      floats = floats || number == 6;
    } else if ((tag & 7) == kFixed32 && number == 6) {
      cursor.skip(sizeof(float));
      floats = true;
    } else {
      throw Error::corrupt("not a Caffe Datum");
    }
  }
  if (floats) throw Error::unsupported("a Caffe Datum of floats");
  if (!data) throw Error::corrupt("a Caffe Datum without data");
  if (encoded) {
    fields.push_back({"data", RecordField::Encoded{data->first, data->second}});
  } else {
    Shape shape;
    for (const std::uint64_t side : sides) {
      if (side == 0 || side > data->second)
        throw Error::corrupt("a Caffe Datum whose size is 0 or larger than its data");
      shape.push_back(static_cast<std::int64_t>(side));
    }
    if (element_count(shape) != data->second) {
      throw Error::corrupt("a Caffe Datum of shape " + to_string(shape) + " with " + std::to_string(data->second) +
                           " bytes");
    }
    fields.push_back({"data", RecordField::Elements{DType::u8, std::move(shape), data->first, data->second}});
  }
  fields.push_back({"cls", RecordField::Text{"cls", std::to_string(static_cast<std::int64_t>(label))}});
  return 0;
}

std::uint64_t read_msgpack(Cursor cursor, std::vector<RecordField>& fields) {
  using Kind = Packed::Kind;
  const Packed map = head_of(cursor);
  if (map.kind != Kind::map || map.size == 0 || map.size > kMostMembers) throw Error::corrupt("not a msgpack map");
  std::uint64_t left_out = 0;
  for (std::uint64_t i = 0; i < map.size; ++i) {
    std::string name = name_in(cursor);
    const Packed head = head_of(cursor);
    if (head.kind == Kind::text || head.kind == Kind::binary) {
      const std::uint64_t begin = cursor.skip(head.size);
      fields.push_back({std::move(name), RecordField::Encoded{begin, head.size}});
    } else if (head.kind == Kind::integer || head.kind == Kind::boolean) {
      fields.push_back({std::move(name), RecordField::Text{"cls", std::to_string(head.integer)}});
    } else if (head.kind == Kind::real && std::isfinite(head.real)) {
      fields.push_back({std::move(name), RecordField::Text{"json", shortest(head.real)}});
    } else if (head.kind == Kind::map) {
      auto array = array_in(cursor, head.size);
      if (array) fields.push_back({std::move(name), std::move(*array)});
      if (!array) ++left_out;
    } else {
      skip_rest(cursor, head, 0);
      ++left_out;
    }
  }
  if (!cursor.at_end()) throw Error::corrupt("bytes after the end of the msgpack map");
  return left_out;
}

}  // namespace

LmdbRecords::Kind LmdbRecords::recognise(std::span<const LmdbListing::Value> values) {
  std::vector<RecordField> fields;
  for (const Kind kind : {Kind::datum, Kind::msgpack}) {
    try {
      for (const LmdbListing::Value& value : values.first(std::min(values.size(), kProbed))) read(kind, value, fields);
      if (!values.empty()) return kind;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) throw;  // any other error means that the values are not of this kind
    }
  }
  return Kind::none;
}

std::uint64_t LmdbRecords::read(Kind kind, const LmdbListing::Value& value, std::vector<RecordField>& fields) {
  fields.clear();
  const Cursor cursor(file_, value);
  return kind == Kind::datum ? read_datum(cursor, fields) : read_msgpack(cursor, fields);
}

}  // namespace penstock
