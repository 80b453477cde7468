#include <algorithm>
#include <string>

#include <penstock/base/error.hpp>
#include <penstock/base/printable.hpp>
#include <penstock/formats/open_options.hpp>

namespace penstock {

void set_open_option(OpenOptions& options, std::string_view name, std::string_view value) {
  const auto* option = std::ranges::find(kOpenOptions, name, &OpenOption::name);
  if (option == kOpenOptions.end()) {
    std::string names;
    for (const OpenOption& known : kOpenOptions) names += (names.empty() ? "" : ", ") + std::string(known.name);
    throw Error::invalid_argument("open() has no option " + double_quoted(name) + "; its options are " + names);
  }
  if (option->text != nullptr) {
    options.*option->text = value;
    return;
  }
  if (value != "true" && value != "false")
    throw Error::invalid_argument(std::string(name) + " is true or false, not " + double_quoted(value));
  options.*option->flag_value = value == "true";
}

std::vector<OpenOptionValue> given_options(const OpenOptions& options) {
  const OpenOptions defaults;
  std::vector<OpenOptionValue> given;
  for (const OpenOption& option : kOpenOptions) {
    if (option.text != nullptr) {
      if (options.*option.text != defaults.*option.text) given.push_back({option.name, options.*option.text});
    } else if (options.*option.flag_value != defaults.*option.flag_value) {
      given.push_back({option.name, options.*option.flag_value ? "true" : "false"});
    }
  }
  return given;
}

std::string options_text(const OpenOptions& options) {
  std::string text;
  for (const auto& [name, value] : given_options(options)) {
    const bool is_switch = std::ranges::find(kOpenOptions, name, &OpenOption::name)->text == nullptr;
    text += ", " + std::string(name) + "=" +
            (!is_switch        ? double_quoted(value)
             : value == "true" ? std::string("True")
                               : std::string("False"));
  }
  return text;
}

void check_options(const OpenOptions& options) {
  if (!options.key.empty() && options.key != "last_dot" && options.key != "first_dot")
    throw Error::invalid_argument("key is \"last_dot\" or \"first_dot\", not " + double_quoted(options.key));
}

}  // namespace penstock
