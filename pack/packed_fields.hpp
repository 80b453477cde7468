// Lists the fields that packing writes: the source's, with their codecs, and labels that were kept apart.
#pragma once

#include <cstdint>
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
  /// `labels` is "FILE[:COLUMN]", or empty; a label takes the place of the source's field of its name. `classes` are
  /// the names that class indexes must follow: the source's own indexes are renumbered by name. Throws Error: what
  /// read_labels throws; invalid_argument, when `classes` lacks one of the source's.
  PackedFields(const Dataset& source, const std::string& labels, std::span<const std::string> classes,
               const Recoding& recoding = {});

  const std::vector<FieldSchema>& schemas() const { return schemas_; }
  const std::vector<std::string>& classes() const { return classes_; }
  /// The source's field behind field `number`; nothing for the labels.
  std::optional<std::uint32_t> stored(std::uint32_t number) const { return stored_[number]; }
  /// That field as the source has it, before its values are made over.
  const FieldSchema& source_schema(std::uint32_t number) const { return source_schemas_[number]; }
  std::span<const std::byte> label(std::uint64_t sample) const { return labels_->of(sample); }
  /// The value as it is written: class indexes renumbered into `scratch`, all else as it is.
  /// Throws Error: corrupt, when a class index is no number or has no name.
  std::span<const std::byte> renumbered(std::uint32_t number, std::span<const std::byte> value,
                                        std::string& scratch) const;

 private:
  void renumber(const Dataset& source, std::span<const std::string> classes);

  std::vector<FieldSchema> schemas_, source_schemas_;
  std::vector<std::optional<std::uint32_t>> stored_;
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> new_number_;  // by the source's class index; empty: as they are
  std::optional<Labels> labels_;
};

}  // namespace penstock
