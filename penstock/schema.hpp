// Describes a field of a dataset: its name and codec, and its dtype and shape if all samples share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {

/// The element types.
enum class DType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, boolean };

/// Size of one element in bytes.
std::size_t size_of(DType dtype);
/// NumPy's name: "uint8", "float32", "bool"; "bfloat16".
std::string_view name(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

/// The size of each dimension, outermost first.
using Shape = std::vector<std::int64_t>;

/// Number of elements of a tensor with that shape.
std::uint64_t element_count(
    const Shape& shape);  ///< 1 for a scalar; throws Error: shape, for a negative or overflowing product
std::string to_string(const Shape& shape);  ///< "(3, 224, 224)"

/// How the type of a field differs between the files of one dataset. field_types.hpp has the rules.
struct FieldDifferences {
  /// To what extent the field can be used.
  enum class Use : std::uint8_t {
    any,           ///< every chain delivers correct values, or throws an error that names two files
    stored_bytes,  ///< the codec of a value is unknown: only the stored bytes are delivered
    nothing,       ///< no type fits the values of all files: reading the field is an error
  };
  std::string text = {};  ///< two files and their types: "float32 () in 1.h5 and int32 () in 2.h5"; empty if all agree
  Use use = Use::any;
  bool widened = false;  ///< numbers of smaller dtypes are widened to `dtype` of the field
  bool rows = false;     ///< the files have different numbers of rows per value
  friend bool operator==(const FieldDifferences&, const FieldDifferences&) = default;
};

/// A field as the dataset stores it.
///
/// `name` is, by default, the extension in lower case ("jpg" for jpeg and jpe). `codec` is the encoding: "jpeg", "png",
/// "webp", "npy", "cls" (ASCII decimal class index), "txt", "json", "raw" (plain little-endian elements) or "tokens"
/// (the same for integers, delivered as int64). If it is empty, each value's first bytes determine it. `dtype` applies
/// to "raw" and "tokens". `shape` applies if it is `fixed` (an HDF5 row). If the number of rows varies, a `shape` of
/// two or more dimensions contains the shape of a row after its first dimension, and {-1} means that values are lists
/// of elements, not bytes.
struct FieldSchema {
  std::string name;
  std::string codec;
  DType dtype = DType::u8;
  Shape shape = {};
  bool fixed = false;
  FieldDifferences differences = {};  ///< set in Dataset::fields(), not in an index
  friend bool operator==(const FieldSchema&, const FieldSchema&) = default;
};

/// The field name and codec of a file extension: ("JPEG") -> {"jpg", "jpeg"}. Unknown extensions keep their name, in
/// lower case, with an empty codec. `extension` has no leading dot and may be compound ("seg.png" -> "seg.png", "png").
FieldSchema field_from_extension(std::string_view extension);

/// How to treat a sample that lacks the field of an output. `empty`: a row that differs in length has no items, and
/// pad(length) makes a row of padding; other rows raise an error.
enum class Missing : std::uint8_t { raise, exclude, empty };
std::string_view name(Missing missing);

/// The rows of an output whose samples lack its field: a policy, or the number that fills these rows.
using MissingRows = std::variant<Missing, std::int64_t, double>;
using MissingRowsOf = std::pair<std::string, MissingRows>;  ///< the name of an output, and its rows

}  // namespace penstock
