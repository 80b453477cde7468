// Finds the fields of an HDF5 file whose datasets hold a row per sample, as hdf5.hpp describes its layouts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <formats/extent.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/hdf5/heap.hpp>
#include <formats/hdf5/rows.hpp>
#include <formats/index/index.hpp>
#include <formats/index/shared_rows.hpp>
#include <penstock/schema.hpp>

namespace penstock {

class Hdf5Field {
 public:
  /// A field whose sample i is row i.
  Hdf5Field(FieldSchema schema, Hdf5Rows rows);
  /// A field whose sample i is the bytes [offsets[i], offsets[i + 1]).
  /// Throws Error: corrupt, unless the offsets ascend and stay inside.
  static Hdf5Field of_offsets(FieldSchema schema, Hdf5Rows bytes, std::vector<std::uint64_t> offsets);
  /// A field whose sample i is the first lengths[i] bytes of row i: strings of fixed length without their padding.
  static Hdf5Field of_lengths(FieldSchema schema, Hdf5Rows rows, std::vector<std::uint64_t> lengths);
  /// A field whose sample i lies in a global heap. `swapped`: its elements are big-endian.
  static Hdf5Field of_locations(FieldSchema schema, Hdf5Rows rows, std::vector<Hdf5Collections::Location> locations,
                                bool swapped);

  /// A field whose sample i is values[i], kept in the index.
  static Hdf5Field of_values(FieldSchema schema, Hdf5Rows rows, std::vector<std::string> values);

  const std::string& name() const { return schema_.name; }
  const FieldSchema& schema() const { return schema_; }
  const Hdf5Rows& rows() const { return rows_; }
  std::uint64_t count() const;
  ColumnSize size() const;
  bool is_whole_number() const;  ///< of each sample, as labels are
  /// One byte per sample, 0 where it lacks the field. Throws Error: corrupt, unless there are count() of them.
  void set_present(std::vector<std::uint8_t> present);
  void add_blocks(IndexBuilder& builder);
  /// Replaces `pieces` by the sample's; false when it lacks the field.
  bool locate(std::uint64_t sample, std::vector<Piece>& pieces) const;

 private:
  enum class Kind : std::uint8_t { rows, offsets, lengths, locations, swapped_locations, values };
  void append_location(std::uint64_t sample, std::vector<Piece>& pieces) const;

  FieldSchema schema_;
  Hdf5Rows rows_;
  Kind kind_ = Kind::rows;
  std::vector<std::uint64_t> numbers_;  // offsets or lengths
  std::vector<Hdf5Collections::Location> locations_;
  std::vector<std::string> values_;
  std::vector<std::uint32_t> blocks_;  // swapped_locations: of each sample
  std::vector<std::uint8_t> present_;  // empty when every sample has the field
};

/// A column of strings called like class names are: these, or a text for each sample.
struct Hdf5Names {
  Hdf5Field field;
  std::vector<std::string> texts;
  bool first;  ///< no attribute had class names before it
};

struct Hdf5Contents {
  std::vector<Hdf5Field> fields;                 ///< of the top level, in the order of their names
  std::vector<Hdf5Field> nested;                 ///< in groups, named by their paths, in the order of these
  std::vector<Hdf5Names> names;                  ///< not among the fields
  std::optional<std::vector<std::string>> keys;  ///< nothing in files without them
  bool keys_are_field = false;                   ///< they are a column called like keys, not `__key__`
  std::vector<std::string> classes;              ///< names, if an attribute or a scalar has them
  std::map<std::string, std::string> left_out;   ///< path -> reason
};

/// Describes everything at the top level, and in groups as long as these hold at most kMostHdf5Columns datasets.
/// Throws Error: corrupt; io.
Hdf5Contents read_hdf5_contents(const Hdf5File& file);

/// The names under which files keep class names, as attributes or as datasets of strings.
bool names_classes(std::string_view name);

}  // namespace penstock
