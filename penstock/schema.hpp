// Describes a field of a dataset: its name and codec, and its dtype and shape where all samples share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

enum class DType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, boolean };

std::size_t size_of(DType dtype);    ///< bytes of one element
std::string_view name(DType dtype);  ///< as NumPy spells it: "uint8", "float32", "bool"; "bfloat16"
std::optional<DType> dtype_named(std::string_view name);

using Shape = std::vector<std::int64_t>;  ///< outermost dimension first

std::uint64_t element_count(
    const Shape& shape);  ///< 1 for a scalar; throws Error: shape, on a negative or overflowing product
std::string to_string(const Shape& shape);  ///< "(3, 224, 224)"

/// How the files of one dataset differ in a field. field_types.hpp has the rules.
struct FieldDifferences {
  /// How far the field can be used.
  enum class Use : std::uint8_t {
    any,           ///< every chain gets right values, or an error that names two files
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
/// `name` is, by default, the extension in lower case ("jpg" for jpeg and jpe). `codec`: how bytes are encoded: "jpeg",
/// "png", "webp", "npy", "cls" (ASCII decimal class index), "txt", "json", "raw" (plain little-endian elements) or
/// "tokens" (the same, of integers, delivered as int64). An empty one is found from each value's first bytes. `dtype`
/// is that of "raw" and "tokens", `shape` where it is `fixed` (an HDF5 row); where the number of rows varies, one of
/// two dimensions or more says, behind its first, a row's, and {-1} that values are lists of elements, not bytes.
struct FieldSchema {
  std::string name;
  std::string codec;
  DType dtype = DType::u8;
  Shape shape = {};
  bool fixed = false;
  FieldDifferences differences = {};  ///< set in Dataset::fields(), not in an index
  friend bool operator==(const FieldSchema&, const FieldSchema&) = default;
};

/// Field name and codec that a file's extension stands for: ("JPEG") -> {"jpg", "jpeg"}; unknown ones keep their own
/// name, in lower case, with an empty codec. `extension` has no leading dot and may be compound ("seg.png" ->
/// "seg.png", "png").
FieldSchema field_from_extension(std::string_view extension);

}  // namespace penstock
