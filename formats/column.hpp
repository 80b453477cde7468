// Fields that are read as texts or numbers of samples, for choices and groups that are made by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>

namespace penstock {

/// A field that is read as a text or a number: "cls", or "json:patient", which is a member of the object in each value.
class Column {
 public:
  /// Throws Error: invalid_argument, naming the dataset's fields, where there is no such one.
  Column(const Dataset& dataset, std::string_view name);

  std::uint32_t field() const { return field_; }
  bool is_class() const;  ///< its numbers are the dataset's classes
  /// A stored scalar as decimal number; of a JSON member its text, or JSON; else the bytes, without blanks and line
  /// ends behind them. Throws Error: invalid_argument, with dataset and key, where the sample has no such value.
  std::string text(const SampleValues& sample, std::size_t value) const;
  /// Throws the same, and Error: corrupt, for what is no finite number.
  double number(const SampleValues& sample, std::size_t value) const;

 private:
  std::string read(std::span<const std::byte> bytes) const;

  std::string dataset_, name_, member_;
  FieldSchema schema_;
  std::uint32_t field_ = 0;
};

/// What groups samples is a regular expression of keys: neither a field nor a member of one, and not plain text.
bool is_key_expression(const Dataset& dataset, std::string_view by);

/// "jpg, cls": for messages.
std::string names_of_fields(const Dataset& dataset);
/// Number of the field. Throws Error: invalid_argument, naming those there are.
std::uint32_t field_named(const Dataset& dataset, std::string_view name);

}  // namespace penstock
