#include <nlohmann/json.hpp>

#include <base/printable.hpp>
#include <formats/text/json_texts.hpp>

namespace penstock {

std::optional<std::string> json_text(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return std::nullopt;
  }
}

std::string json_list(std::span<const std::string> values) {
  std::string list = "[";
  for (const std::string& value : values) list += (list.size() == 1 ? "" : ",") + value;
  return list + "]";
}

std::string not_utf8(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return "several strings, of which " + double_quoted(text.substr(0, kShown)) +
         " is not UTF-8: such lists are read as JSON, which holds only UTF-8; store UTF-8, or a field for each string";
}

}  // namespace penstock
