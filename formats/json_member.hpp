// Finds the field that a name such as "cls" or "json:weather" refers to, and the member in its JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <penstock/schema.hpp>

namespace penstock {

/// A field, or a member of the JSON objects in a field.
struct NamedValue {
  std::uint32_t field = 0;
  std::string_view member = {};  ///< a part of the name; empty: the whole value
};

/// Returns the field called `name`. Without such a field, returns FIELD and MEMBER of a name "FIELD:MEMBER". Returns
/// nothing if there is no such field either.
std::optional<NamedValue> find_value(std::span<const FieldSchema> fields, std::string_view name);

struct JsonMember {
  std::string text;        ///< a string without its quotes and escapes; for other values, their JSON
  bool is_string = false;  ///< the value is a JSON string
};

/// Returns a member of a JSON object. Returns nothing if `bytes` are other JSON, or an object without such a member.
/// Throws Error: corrupt, if they are not JSON.
std::optional<JsonMember> json_member(std::span<const std::byte> bytes, std::string_view member);
std::string no_json_member(std::string_view member);  ///< the cause of an error

}  // namespace penstock
