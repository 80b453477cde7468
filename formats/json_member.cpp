#include <algorithm>

#include <base/printable.hpp>
#include <formats/json_member.hpp>
#include <formats/text/byte_order_mark.hpp>
#include <formats/text/json_cause.hpp>
#include <formats/text/json_document.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::optional<std::uint32_t> find_field(std::span<const FieldSchema> fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &FieldSchema::name);
  if (found == fields.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - fields.begin());
}

}  // namespace

std::optional<NamedValue> find_value(std::span<const FieldSchema> fields, std::string_view name) {
  if (const auto field = find_field(fields, name)) return NamedValue{.field = *field};
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon + 1 == name.size()) return std::nullopt;
  const auto field = find_field(fields, name.substr(0, colon));
  if (!field) return std::nullopt;
  return NamedValue{.field = *field, .member = name.substr(colon + 1)};
}

std::optional<JsonMember> json_member(std::span<const std::byte> bytes, std::string_view member) {
  try {
    const JsonDocument document(without_byte_order_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    if (!document.root().is_object()) return std::nullopt;
    const auto found = document.root().find(member);
    if (found == document.root().end()) return std::nullopt;
    if (found->is_string()) return JsonMember{.text = found->get<std::string>(), .is_string = true};
    return JsonMember{.text = found->dump()};
  } catch (const nlohmann::json::exception& error) {
    throw Error::corrupt("the value is not valid JSON: " + json_cause(error));
  }
}

std::string no_json_member(std::string_view member) {
  return "its JSON has no member \"" + one_line(member) + "\"";
}

}  // namespace penstock
