// Lists the fields that packing writes: the source's fields with their codecs, and labels from a separate file.
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
  /// `labels` is "FILE[:COLUMN]", or empty. A label replaces the source's field of the same name. `classes` lists the
  /// names of the packed dataset's class indexes; the source's indexes are renumbered by name. Throws Error:
  /// invalid_argument, if `classes` lacks a class of the source; errors of read_labels().
  PackedFields(const Dataset& source, const std::string& labels, std::span<const std::string> classes,
               const Recoding& recoding = {});

  const std::vector<FieldSchema>& schemas() const { return schemas_; }
  const std::vector<std::string>& classes() const { return classes_; }
  /// Number of the source's field that field `number` copies, or nothing for the labels.
  std::optional<std::uint32_t> stored(std::uint32_t number) const { return stored_[number]; }
  /// Schema of that field in the source, before its values are re-encoded.
  const FieldSchema& source_schema(std::uint32_t number) const { return source_schemas_[number]; }
  std::span<const std::byte> label(std::uint64_t sample) const { return labels_->of(sample); }
  /// Returns the value to write: a renumbered class index, stored in `scratch`, or the value itself.
  /// Throws Error: corrupt, if a class index is not a number or has no name.
  std::span<const std::byte> renumbered(std::uint32_t number, std::span<const std::byte> value,
                                        std::string& scratch) const;

 private:
  void renumber(const Dataset& source, std::span<const std::string> classes);

  std::vector<FieldSchema> schemas_, source_schemas_;
  std::vector<std::optional<std::uint32_t>> stored_;
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> new_number_;  // indexed by the source's class index; empty if indexes stay
  std::optional<Labels> labels_;
};

}  // namespace penstock
