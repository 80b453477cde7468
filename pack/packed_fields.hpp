// Lists the fields that packing writes: the source's fields as they are stored afterwards, and labels from a separate
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/labels/labels.hpp>
#include <penstock/dataset.hpp>
#include <penstock/pack.hpp>

namespace penstock {

class PackedFields {
 public:
  /// Uses `options.labels`, `classes`, `recoding`, `format` and `world`. A label replaces the source's field of the
  /// same name. The source's class indexes are renumbered by the names in `classes`. Reads the headers of arrays
  /// (schema_of_rows()), and calls `tick` meanwhile. Throws Error: invalid_argument, if `classes` lacks a class of the
  /// source; errors of read_labels() and schema_of_rows().
  PackedFields(const Dataset& source, const ConvertOptions& options, const std::function<void()>& tick = {});

  const std::vector<FieldSchema>& schemas() const { return schemas_; }
  const std::vector<std::string>& classes() const { return classes_; }
  /// Number of the source's field that field `number` copies, or nothing for the labels.
  std::optional<std::uint32_t> stored(std::uint32_t number) const { return stored_[number]; }
  /// Schema of that field in the source, before its values are re-encoded.
  const FieldSchema& source_schema(std::uint32_t number) const { return source_schemas_[number]; }
  /// Whether ArrayConverter converts the values, from the schema in the source to the one after packing.
  bool converts(std::uint32_t number) const { return converts_[number]; }
  /// Names of the fields whose rows were `.npy` values, in this source or in the one that it was packed from.
  const std::vector<std::string>& arrays() const { return arrays_; }
  std::span<const std::byte> label(std::uint64_t sample) const { return labels_->of(sample); }
  /// Returns the value to write: a renumbered class index, stored in `scratch`, or the value itself.
  /// Throws Error: corrupt, if a class index is not a number or has no name.
  std::span<const std::byte> renumbered(std::uint32_t number, std::span<const std::byte> value,
                                        std::vector<std::byte>& scratch) const;

 private:
  void add(const Dataset& source, std::uint32_t field, const ConvertOptions& options,
           const std::function<void()>& tick);
  void renumber(const Dataset& source, std::span<const std::string> classes);

  std::vector<FieldSchema> schemas_, source_schemas_;
  std::vector<std::optional<std::uint32_t>> stored_;
  std::vector<bool> converts_;
  std::vector<std::string> arrays_before_, arrays_;  // recorded by the source, and to be recorded
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> new_number_;  // indexed by the source's class index; empty if indexes stay
  std::optional<Labels> labels_;
};

}  // namespace penstock
