// Finds the fields of an HDF5 file whose datasets hold a row per sample. hdf5.hpp describes these layouts.
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
  /// Makes a field whose sample i is row i.
  Hdf5Field(FieldSchema schema, Hdf5Rows rows);
  /// Makes a field whose sample i is the bytes [offsets[i], offsets[i + 1]). Throws Error: corrupt, unless the offsets
  /// ascend and stay inside.
  static Hdf5Field of_offsets(FieldSchema schema, Hdf5Rows bytes, std::vector<std::uint64_t> offsets);
  /// Makes a field whose sample i is the first lengths[i] bytes of row i: strings of fixed length without their
  /// padding.
  static Hdf5Field of_lengths(FieldSchema schema, Hdf5Rows rows, std::vector<std::uint64_t> lengths);
  /// Makes a field whose sample i is stored in a global heap. `swapped`: its elements are big-endian.
  static Hdf5Field of_locations(FieldSchema schema, Hdf5Rows rows, std::vector<Hdf5Collections::Location> locations,
                                bool swapped);

  /// Makes a field whose sample i is values[i], stored in the index.
  static Hdf5Field of_values(FieldSchema schema, Hdf5Rows rows, std::vector<std::string> values);

  const std::string& name() const { return schema_.name; }
  const FieldSchema& schema() const { return schema_; }
  const Hdf5Rows& rows() const { return rows_; }
  std::uint64_t count() const;
  ColumnSize size() const;
  bool is_whole_number() const;  ///< true if each sample is an integer, as labels are
  /// One byte per sample, 0 if the sample lacks the field. Throws Error: corrupt, unless there are count() bytes.
  void set_present(std::vector<std::uint8_t> present);
  void add_blocks(IndexBuilder& builder);
  /// Replaces `pieces` by those of the sample. Returns false if it lacks the field.
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
  std::vector<std::uint32_t> blocks_;  // swapped_locations: the block of each sample
  std::vector<std::uint8_t> present_;  // empty if every sample has the field
};

/// A column of strings with a usual name for class names: either the class names, or a text for each sample.
struct Hdf5Names {
  Hdf5Field field;
  std::vector<std::string> texts;
  bool first;  ///< true if no attribute had class names before it
};

struct Hdf5Contents {
  std::vector<Hdf5Field> fields;                 ///< of the top level, in the order of their names
  std::vector<Hdf5Field> nested;                 ///< in groups, named by their paths, in the order of the paths
  std::vector<Hdf5Names> names;                  ///< not in `fields`
  std::optional<std::vector<std::string>> keys;  ///< no value in files without keys
  bool keys_are_field = false;       ///< they come from a column with a usual name for keys, not from `__key__`
  std::vector<std::string> classes;  ///< names, if an attribute or a scalar has them
  std::map<std::string, std::string> left_out;  ///< path -> reason
};

/// Describes everything at the top level, and in groups if these hold at most kMostHdf5Columns datasets. Throws Error:
/// corrupt; io.
Hdf5Contents read_hdf5_contents(const Hdf5File& file);

/// Returns whether files use this name for class names, as attributes or as datasets of strings.
bool names_classes(std::string_view name);
/// Why strings with such a name are left out.
constexpr const char* kUnprintableClasses = "class names that are not printable UTF-8";

}  // namespace penstock
