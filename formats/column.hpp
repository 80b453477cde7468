// Reads fields as one text or number per sample, for filters and groups that depend on their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>

namespace penstock {

/// A field that is read as a text or a number: "cls", or "json:patient", the member "patient" of each JSON object.
class Column {
 public:
  /// Throws Error: invalid_argument, with the names of the dataset's fields, if there is no such field.
  Column(const Dataset& dataset, std::string_view name);

  std::uint32_t field() const { return field_; }
  bool is_class() const;  ///< true if its numbers are the dataset's classes
  /// Returns a stored scalar as a decimal number, a JSON member as its text or JSON, and other values as their bytes
  /// without trailing blanks and line ends. Throws Error: invalid_argument, with dataset and key, if the sample has no
  /// such value.
  std::string text(const SampleValues& sample, std::size_t value) const;
  /// Throws the same errors, and Error: corrupt, if the value is not a finite number.
  double number(const SampleValues& sample, std::size_t value) const;

 private:
  std::string read(std::span<const std::byte> bytes) const;

  std::string dataset_, name_, member_;
  FieldSchema schema_;
  std::uint32_t field_ = 0;
};

/// Returns whether `by` is a regular expression for keys: neither a field, nor a member of a field, nor plain text.
bool is_key_expression(const Dataset& dataset, std::string_view by);

/// Names of all fields for messages: "jpg, cls".
std::string names_of_fields(const Dataset& dataset);
/// Returns the number of the field. Throws Error: invalid_argument, with the names of the existing fields.
std::uint32_t field_named(const Dataset& dataset, std::string_view name);

}  // namespace penstock
