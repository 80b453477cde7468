#include <nlohmann/json.hpp>
#include <set>

#include <formats/labels/label_table.hpp>
#include <formats/labels/labels.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/rows/read_table.hpp>
#include <formats/text/json_cause.hpp>
#include <formats/text/json_number.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> from_lines(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string_view line : lines_of(text)) names.emplace_back(line);
  return names;
}

std::vector<std::string> from_json(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (!json.is_object()) return json.get<std::vector<std::string>>();
    std::vector<std::string> names(json.size());
    for (const auto& [name, number] : json.items()) {
      std::string& place = names.at(whole_number(number));
      if (!place.empty()) throw Error::corrupt("two classes have the number " + number.dump());
      place = name;
    }
    return names;
  } catch (const nlohmann::json::exception& error) {
    throw Error::corrupt("not a list of class names: " + json_cause(error));
  } catch (const std::out_of_range&) {
    throw Error::corrupt("the numbers of the classes do not run from 0 without gaps");
  }
}

std::vector<std::string> from_file(const fs::path& path) {
  const std::string text = read_text_file(path);
  std::vector<std::string> names = path.extension() == ".json" ? from_json(text) : from_lines(text);
  if (names.empty()) throw Error::corrupt("contains no class names");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) throw Error::corrupt("the class \"" + name + "\" appears twice");
  }
  return names;
}

bool is_list_of_names(const fs::path& path) {
  const fs::path extension = path.extension();
  return path.filename() != Manifest::kFileName &&
         (extension == ".txt" || extension == ".json" || extension == ".names");
}

}  // namespace

std::vector<std::string> read_classes(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored) && is_list_of_names(path)) {
    try {
      return from_file(path);
    } catch (const Error& error) {
      throw error.in({.shard = path.string()});
    }
  }
  const Dataset dataset = open(path);
  if (dataset.classes().empty()) {
    throw Error::invalid_argument("the dataset has no class names", {.dataset = path.string()});
  }
  return {dataset.classes().begin(), dataset.classes().end()};
}

}  // namespace penstock
