#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/numbers/load.hpp>
#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/column.hpp>
#include <formats/element_types.hpp>
#include <formats/encodings.hpp>
#include <formats/json_member.hpp>
#include <formats/text/byte_order_mark.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::string_view characters(std::span<const std::byte> bytes) {
  return without_byte_order_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Returns one stored number as text. Half floats are not supported, because no column of labels has them.
std::optional<std::string> scalar_text(DType dtype, std::span<const std::byte> bytes) {
  if (bytes.size() != size_of(dtype)) return std::nullopt;
  return with_element(dtype, [bytes](auto element) -> std::optional<std::string> {
    if constexpr (std::is_same_v<decltype(element), HalfElement> || std::is_same_v<decltype(element), BrainElement>) {
      return std::nullopt;
    } else {
      return shortest_decimal(number_of(load<decltype(element)>(bytes, 0)));
    }
  });
}

// Describes the values of a field that holds neither numbers nor text. Returns an empty string for numbers and text.
std::string held_by(const FieldSchema& schema) {
  const EncodingTraits& traits = codec_traits(schema.codec);
  if (kind_of_codec(schema.codec) == ValueKind::image) return "images (" + schema.codec + ")";
  if (traits.array_file) return "arrays (" + schema.codec + ")";
  if (traits.tokens) return "tokens";
  if (traits.elements && schema.fixed && element_count(schema.shape) != 1)
    return "arrays of shape " + to_string(schema.shape);
  return {};
}

}  // namespace

std::string names_of_fields(const Dataset& dataset) {
  const std::string names =
      joined_text(dataset.fields(), ", ", [](const FieldSchema& field) { return one_line(field.name); });
  return names.empty() ? "none" : names;
}

std::uint32_t field_named(const Dataset& dataset, std::string_view name) {
  if (const auto field = dataset.field(name)) return *field;
  throw Error::invalid_argument("there is no field \"" + one_line(name) + "\"; its fields are " +
                                    names_of_fields(dataset) + and_why_no_field(dataset, name),
                                {.dataset = dataset.path().string()});
}

Column::Column(const Dataset& dataset, std::string_view name) : dataset_(dataset.path().string()), name_(name) {
  const auto found = find_value(dataset.fields(), name);
  field_ = found ? found->field : field_named(dataset, name.substr(0, name.find(':')));
  if (found) member_ = found->member;
  schema_ = dataset.fields()[field_];
  const std::string what = held_by(schema_);
  if (member_.empty() && !what.empty()) {
    throw Error::invalid_argument("the field holds " + what + ", not a number or a text for each sample",
                                  {.dataset = dataset_, .field = schema_.name});
  }
}

bool Column::is_class() const {
  return member_.empty() && (codec_traits(schema_.codec).label || extension_traits(schema_.name).label);
}

std::string Column::read(std::span<const std::byte> bytes) const {
  if (!member_.empty()) {
    if (auto member = json_member(bytes, member_)) return std::move(member->text);
    throw Error::invalid_argument(no_json_member(member_));
  }
  const std::string_view text = characters(bytes);
  if (codec_traits(schema_.codec).elements) {
    if (auto scalar = scalar_text(schema_.dtype, bytes)) return *std::move(scalar);
  }
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

std::string Column::text(const SampleValues& sample, std::size_t value) const {
  const ErrorContext where{.dataset = dataset_, .key = std::string(sample.key), .field = schema_.name};
  if (!sample.values[value]) throw Error::invalid_argument("the sample has no such field", where);
  try {
    return read(*sample.values[value]);
  } catch (const Error& error) {
    throw error.in(where);
  }
}

double Column::number(const SampleValues& sample, std::size_t value) const {
  const std::string text = this->text(sample, value);
  const std::size_t blanks = std::min(text.find_first_not_of(" +"), text.size());
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto [stop, failure] = std::from_chars(text.data() + blanks, end, number);
  if (failure != std::errc{} || stop != end || !std::isfinite(number)) {
    const bool object = member_.empty() && (codec_traits(schema_.codec).members || schema_.name.ends_with("json"));
    throw Error::corrupt(double_quoted(std::string_view(text).substr(0, 40)) + " is not a finite number" +
                             (object ? "; \"" + one_line(schema_.name) + ":NAME\" selects a member of the object" : ""),
                         {.dataset = dataset_, .key = std::string(sample.key), .field = name_});
  }
  return number;
}

bool is_key_expression(const Dataset& dataset, std::string_view by) {
  if (find_value(dataset.fields(), by)) return false;
  return by.find_first_of("()[]{}.*+?^$|\\") != std::string_view::npos;
}

}  // namespace penstock
