// The fields of an HDF5 file, as hdf5.hpp describes its layouts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <penstock/formats/hdf5_file.hpp>
#include <penstock/formats/hdf5_rows.hpp>
#include <penstock/formats/index.hpp>
#include <penstock/formats/schema.hpp>

namespace penstock {

class Hdf5Field {
 public:
  /// A field whose sample i is row i.
  Hdf5Field(FieldSchema schema, Hdf5Rows rows);
  /// A field whose sample i is the bytes [offsets[i], offsets[i + 1]).
  /// Throws Error: corrupt, unless the offsets ascend and stay inside.
  Hdf5Field(FieldSchema schema, Hdf5Rows bytes, std::vector<std::uint64_t> offsets);

  const std::string& name() const { return schema_.name; }
  const FieldSchema& schema() const { return schema_; }
  std::uint64_t count() const;
  /// One byte per sample, 0 where it lacks the field. Throws Error: corrupt, unless there are count() of them.
  void set_present(std::vector<std::uint8_t> present);
  void add_blocks(IndexBuilder& builder, std::uint32_t file) { rows_.add_blocks(builder, file); }
  /// Replaces `pieces` by the sample's; false when it lacks the field.
  bool locate(std::uint64_t sample, std::vector<Piece>& pieces) const;

 private:
  FieldSchema schema_;
  Hdf5Rows rows_;
  std::vector<std::uint64_t> offsets_;  // empty when samples are rows
  std::vector<std::uint8_t> present_;   // empty when every sample has the field
};

struct Hdf5Contents {
  std::vector<Hdf5Field> fields;                 ///< in the order of their names
  std::optional<std::vector<std::string>> keys;  ///< nothing in files without __key__
  std::map<std::string, std::string> left_out;   ///< name -> reason
};

/// Describes everything at the top level. Throws Error: corrupt; io.
Hdf5Contents read_hdf5_contents(const Hdf5File& file);

}  // namespace penstock
