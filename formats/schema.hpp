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
  friend bool operator==(const FieldSchema&, const FieldSchema&) = default;
};

/// Field name and codec that a file's extension stands for: ("JPEG") -> {"jpg", "jpeg"}; unknown ones keep their own
/// name, in lower case, with an empty codec. `extension` has no leading dot and may be compound ("seg.png" ->
/// "seg.png", "png").
FieldSchema field_from_extension(std::string_view extension);

}  // namespace penstock
