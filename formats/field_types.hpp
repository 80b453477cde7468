// Gives a field one type for a whole dataset. The files of a dataset may store the field with several types.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/index/index.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Collects the types that a field has in the shards of a dataset.
class FieldTypes {
 public:
  struct Place {
    std::string shard;  ///< its name in messages
    std::string path;   ///< its name in messages if both shards have the same name
    bool has_samples;   ///< types of empty shards are ignored, unless all shards are empty
  };
  void add(const FieldSchema& schema, const Place& place);

  /// Returns one type for all shards. The order of the calls of add() does not matter.
  ///
  ///   numbers of two dtypes           the smallest dtype that holds both exactly (filters/widen.hpp)
  ///   arrays of n and of m rows       arrays of any number of rows: not fixed
  ///   codecs with magic bytes         no codec: the first bytes of each value decide
  ///   "cls" and "npy"                 "npy" (TFRecord: one number in some files, several in others)
  ///   rows of one shape and "npy"     "npy" (HDF5 of pack: arrays of one shape in some datasets, of several in others)
  ///   other codecs                    Use::stored_bytes
  ///   anything else                   Use::nothing: integers and floats, two shapes, numbers and text
  ///
  /// Throws Error: invalid_argument, for tokens of two dtypes.
  FieldSchema together() const;

 private:
  struct Type {
    FieldSchema schema;
    std::string text;
    Place place;
  };
  struct Conflict {
    const Type *first, *second;
    FieldDifferences::Use use;
  };
  static std::string text_of(const Type& a, const Type& b);
  static bool join(FieldSchema& all, const FieldSchema& other);
  static std::optional<Conflict> conflict_in(std::span<const Type* const> types);

  std::string name_;
  std::vector<Type> types_;  // all different
};

/// Whether each value is a row of one array: elements of the field's dtype and shape, without a header (codec "raw").
bool is_row(const FieldSchema& schema);
std::string array_text(DType dtype, const Shape& shape);  ///< "float32 (3, 4)"

/// Returns whether values of the type `own` must be converted to the type that together() returned.
bool needs_change(const FieldSchema& own, const FieldSchema& together);

struct TypeChange {
  std::uint32_t field;  ///< number in the index
  std::string codec;
  DType dtype;
};

/// Copies a shard's index and changes the types of some fields. "raw" numbers become blocks with Filter::Id::widen.
/// "cls" values become "npy" arrays of one int64, and rows of one shape "npy" arrays of it. The CRC-32C of a value that
/// is one extent is still checked; other checksums of a changed field are dropped. Throws Error: unsupported, with the
/// field, if its values cannot be converted; corrupt.
Index with_types(const Index& index, std::span<const TypeChange> changes);

/// Call before reading a field. Throws Error: unsupported, if Use is nothing.
void require_one_type(const FieldSchema& schema);
/// Call before decoding a field. Throws Error: unsupported, unless Use is any.
void require_one_codec(const FieldSchema& schema);
/// Suffix for messages about one value: "; the files disagree on this field: ...". Empty if they agree.
std::string disagreement(const FieldSchema& schema);

}  // namespace penstock
