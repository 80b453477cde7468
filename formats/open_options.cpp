#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <penstock/open_options.hpp>

namespace penstock {
namespace {

std::string list_text(const std::vector<std::string>& texts) {
  return "[" + joined_text(texts, ", ", [](const std::string& text) { return nlohmann::json(text).dump(); }) + "]";
}

std::string value_of(const OpenOption& option, const OpenOptions& options) {
  if (option.text != nullptr) return options.*option.text;
  if (option.list != nullptr) return list_text(options.*option.list);
  return options.*option.flag_value ? "true" : "false";
}

const OpenOption* option_named(std::string_view name) {
  return std::ranges::find(kOpenOptions, name, &OpenOption::name);
}

}  // namespace

void set_open_option(OpenOptions& options, std::string_view name, std::string_view value) {
  const OpenOption* const option = option_named(name);
  if (option == kOpenOptions.end()) {
    const std::string names = joined_text(kOpenOptions, ", ", &OpenOption::name);
    throw Error::invalid_argument("open() has no option " + double_quoted(name) + "; its options are " + names);
  }
  if (option->text != nullptr) {
    options.*option->text = value;
    return;
  }
  if (option->list != nullptr) {
    try {
      options.*option->list = nlohmann::json::parse(value).get<std::vector<std::string>>();
    } catch (const nlohmann::json::exception&) {
      throw Error::invalid_argument(std::string(name) + " must be a list of texts (in JSON: [\"cat\", \"dog\"]), not " +
                                    double_quoted(value));
    }
    return;
  }
  if (value != "true" && value != "false")
    throw Error::invalid_argument(std::string(name) + " must be true or false, not " + double_quoted(value));
  options.*option->flag_value = value == "true";
}

std::vector<OpenOptionValue> given_options(const OpenOptions& options) {
  const OpenOptions defaults;
  std::vector<OpenOptionValue> given;
  for (const OpenOption& option : kOpenOptions) {
    std::string value = value_of(option, options);
    if (value != value_of(option, defaults)) given.push_back({option.name, std::move(value)});
  }
  return given;
}

std::string options_text(const OpenOptions& options) {
  std::string text;
  for (const auto& [name, value] : given_options(options)) {
    const OpenOption& option = *option_named(name);
    const std::string word = value == "true" ? "True" : "False";
    text += ", " + std::string(name) + "=" +
            (option.text != nullptr   ? double_quoted(value)
             : option.list != nullptr ? value
                                      : word);
  }
  return text;
}

void check_options(const OpenOptions& options) {
  if (!options.key.empty() && options.key != "last_dot" && options.key != "first_dot")
    throw Error::invalid_argument("key must be \"last_dot\" or \"first_dot\", not " + double_quoted(options.key));
  if (!options.missing_files.empty() && options.missing_files != "skip" && options.missing_files != "raise")
    throw Error::invalid_argument("missing_files must be \"raise\" or \"skip\", not " +
                                  double_quoted(options.missing_files));
  std::vector<std::string> names = options.classes;
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw Error::invalid_argument("classes has " + double_quoted(*twice) + " twice");
}

}  // namespace penstock
