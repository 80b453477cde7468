#include <array>
#include <charconv>
#include <utility>

#include <formats/mds/columns.hpp>
#include <formats/text/numpy_text.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Encodings whose bytes are the plain value, with the codec that reads it. The first one of a codec is used for
// writing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTexts{{{"str", "txt"},
                                                                               {"str_float", "txt"},
                                                                               {"str_decimal", "txt"},
                                                                               {"str_int", "cls"},
                                                                               {"json", "json"},
                                                                               {"jpeg", "jpeg"},
                                                                               {"png", "png"}}};

// Codes of dtypes in an ndarray.
constexpr std::array<std::pair<unsigned, DType>, 11> kNumbers{{{8, DType::u8},
                                                               {9, DType::i8},
                                                               {16, DType::u16},
                                                               {17, DType::i16},
                                                               {18, DType::f16},
                                                               {32, DType::u32},
                                                               {33, DType::i32},
                                                               {34, DType::f32},
                                                               {64, DType::u64},
                                                               {65, DType::i64},
                                                               {66, DType::f64}}};

std::optional<DType> number_dtype(std::string_view name) {
  const std::optional<DType> dtype = name == "int" ? DType::i64 : dtype_named(name);
  for (const auto& [number, known] : kNumbers) {
    if (dtype == known) return dtype;
  }
  return std::nullopt;
}

DType dtype_of_number(unsigned number) {
  for (const auto& [known, dtype] : kNumbers) {
    if (known == number) return dtype;
  }
  throw Error::corrupt("an ndarray has elements of type number " + std::to_string(number));
}

/// Parses "2,3" to (2, 3).
Shape shape_of(std::string_view text) {
  Shape shape;
  while (true) {
    std::int64_t extent = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (failure != std::errc() || extent < 1) throw Error::corrupt("an ndarray encoding has no shape");
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (!text.starts_with(',')) throw Error::corrupt("an ndarray encoding has no shape");
    text.remove_prefix(1);
  }
}

void make_fixed(MdsColumn& column, DType dtype, Shape shape) {
  column.schema.codec = "raw";
  column.schema.dtype = dtype;
  column.schema.shape = std::move(shape);
  column.schema.fixed = true;
}

/// Parses "", "DTYPE", "DTYPE:SHAPE" or ":SHAPE".
void make_array(MdsColumn& column, std::string_view arguments) {
  const std::size_t colon = arguments.find(':');
  const std::string_view dtype_name = arguments.substr(0, colon);
  std::optional<DType> dtype;
  if (!dtype_name.empty()) {
    dtype = number_dtype(dtype_name);
    if (!dtype || dtype_name == "int") throw Error::corrupt("an ndarray encoding has an unknown dtype");
  }
  if (colon != std::string_view::npos) column.schema.shape = shape_of(arguments.substr(colon + 1));
  const bool shaped = !column.schema.shape.empty();
  if (dtype && shaped) return make_fixed(column, *dtype, std::move(column.schema.shape));
  column.schema.codec = "npy";
  if (dtype) column.schema.dtype = *dtype;
  column.kind = dtype ? MdsColumn::Kind::typed_array : shaped ? MdsColumn::Kind::untyped_array : MdsColumn::Kind::array;
}

/// Returns the bytes of a value with the column's dtype and shape.
std::uint64_t fixed_size(const FieldSchema& schema) {
  const std::uint64_t count = element_count(schema.shape);
  if (count > (std::uint64_t{1} << 40)) throw Error::corrupt("an ndarray encoding of too many elements");
  return count * size_of(schema.dtype);
}

// One byte holds the number of dimensions and their width: dimensions << 2 | log2 of the bytes of each.
Shape read_shape(std::span<const std::byte> bytes, std::uint64_t& at) {
  const auto packed = std::to_integer<unsigned>(bytes[at++]);
  const std::uint64_t width = std::uint64_t{1} << (packed & 3), dimensions = packed >> 2;
  if (dimensions * width > bytes.size() - at) throw Error::corrupt("an ndarray ends inside its shape");
  Shape shape;
  for (std::uint64_t i = 0; i < dimensions; ++i, at += width) {
    std::uint64_t extent = 0;
    for (std::uint64_t b = width; b-- > 0;) extent = extent << 8 | std::to_integer<std::uint64_t>(bytes[at + b]);
    if (extent > (std::uint64_t{1} << 40))
      throw Error::corrupt("an ndarray has a dimension of " + std::to_string(extent));
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  return shape;
}

}  // namespace

MdsColumn mds_column(std::string name, std::string_view encoding, std::optional<std::uint64_t> size) {
  MdsColumn column{.schema = {.name = std::move(name), .codec = ""}};
  for (const auto& [text, codec] : kTexts) {
    if (encoding == text) column.schema.codec = codec;
  }
  if (const auto dtype = number_dtype(encoding)) make_fixed(column, *dtype, {});
  if (encoding == "ndarray") make_array(column, "");
  if (encoding.starts_with("ndarray:")) make_array(column, encoding.substr(8));
  if (size && *size != 0) column.size = size;  // as in mosaicml-streaming: 0 means no size
  if (column.schema.fixed && column.size && *column.size != fixed_size(column.schema)) {
    throw Error::corrupt(
        "a column of " + std::string(encoding) + " has values of " + std::to_string(*column.size) + " bytes",
        {.field = column.schema.name});
  }
  return column;
}

std::string_view mds_encoding_of(std::string_view codec) {
  for (const auto& [encoding, known] : kTexts) {
    if (codec == known) return encoding;
  }
  return {};
}

MdsArray read_mds_array(const MdsColumn& column, std::span<const std::byte> first, std::uint64_t length) {
  std::uint64_t at = 0;
  const bool has_dtype = column.kind != MdsColumn::Kind::typed_array;
  const bool has_shape = column.kind != MdsColumn::Kind::untyped_array;
  if (first.size() < std::size_t{has_dtype} + std::size_t{has_shape}) {
    throw Error::corrupt("an ndarray ends before its shape");
  }
  const DType dtype = has_dtype ? dtype_of_number(std::to_integer<unsigned>(first[at++])) : column.schema.dtype;
  const Shape shape = has_shape ? read_shape(first, at) : column.schema.shape;
  const std::uint64_t count = element_count(shape);
  if (count > length || count * size_of(dtype) != length - at) {
    throw Error::corrupt("an ndarray of " + to_string(shape) + " has " + std::to_string(length - at) + " bytes");
  }
  return {.skip = at, .npy_header = npy_header_text(dtype, shape)};
}

}  // namespace penstock
