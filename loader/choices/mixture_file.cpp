#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/places/address.hpp>
#include <formats/rows/read_table.hpp>
#include <formats/text/json_document.hpp>
#include <penstock/error.hpp>
#include <penstock/open_options.hpp>
#include <penstock/sampling.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 7> kMembers{"sources",  "weights",   "temperature", "stop",
                                                   "sampling", "on_change", "schedule"};

[[noreturn]] void refuse_mixture(const std::string& cause) {
  throw Error::invalid_argument(cause);
}

double number_in(const nlohmann::json& json, const std::string& name) {
  if (!json.is_number()) refuse_mixture(name + " is not a number");
  return json.get<double>();
}

std::uint64_t whole_in(const nlohmann::json& json, const std::string& name) {
  if (!json.is_number_unsigned()) refuse_mixture(name + " is not a whole number of 0 or more");
  return json.get<std::uint64_t>();
}

std::vector<double> weights_in(const nlohmann::json& json, const std::vector<MixtureSource>& sources,
                               const std::string& name) {
  if (!json.is_object()) refuse_mixture(name + " is not an object of numbers by source");
  for (const auto& [source, weight] : json.items())
    if (std::ranges::find(sources, source, &MixtureSource::name) == sources.end())
      refuse_mixture(name + ": there is no source " + double_quoted(source));
  std::vector<double> weights;
  for (const MixtureSource& source : sources) {
    if (!json.contains(source.name)) refuse_mixture(name + ": source " + double_quoted(source.name) + " has no weight");
    weights.push_back(number_in(json[source.name], name + " of " + double_quoted(source.name)));
  }
  return weights;
}

// Leaves addresses of stores unchanged and resolves other paths relative to the folder.
std::filesystem::path place_of(const std::filesystem::path& folder, const std::string& path) {
  return path.find("://") != std::string::npos && address_of(path) ? std::filesystem::path(path) : folder / path;
}

// Reads the options of a source: {"path": ..., "format": "tar", "split_names": false}
OpenOptions open_options_in(const nlohmann::json& json, const std::string& source) {
  OpenOptions options;
  for (const auto& [name, value] : json.items()) {
    if (name == "path") continue;
    if (!value.is_string() && !value.is_boolean() && !value.is_array())
      refuse_mixture(double_quoted(name) + " of source " + double_quoted(source) +
                     " is not a string, a list, true or false");
    set_open_option(options, name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return options;
}

std::vector<MixtureSource> sources_in(const nlohmann::json& json, const std::filesystem::path& folder) {
  if (!json.is_object() || json.empty()) refuse_mixture("\"sources\" is not an object of paths by name");
  std::vector<MixtureSource> sources;
  for (const auto& [name, path] : json.items()) {
    const bool with_options = path.is_object() && path.contains("path");
    const nlohmann::json& place = with_options ? path["path"] : path;
    if (!place.is_string()) refuse_mixture("the path of source " + double_quoted(name) + " is not a string");
    const OpenOptions options = with_options ? open_options_in(path, name) : OpenOptions();
    sources.push_back({.name = name, .dataset = open(place_of(folder, place.get<std::string>()), options)});
  }
  return sources;
}

void set_stop(const nlohmann::json& json, MixtureOptions& options) {
  if (json.is_number_unsigned()) {
    options.stop = Stop::samples;
    options.samples = json.get<std::uint64_t>();
  } else if (json == "all_exhausted") {
    options.stop = Stop::all_exhausted;
  } else if (json != "first_exhausted") {
    refuse_mixture("\"stop\" is not \"first_exhausted\", \"all_exhausted\" or a number of samples");
  }
}

std::vector<double> weights_of_sources(const nlohmann::json& json, const std::vector<MixtureSource>& sources) {
  if (json.contains("weights") && json.contains("temperature"))
    refuse_mixture("\"weights\" cannot be combined with \"temperature\"");
  if (json.contains("weights")) return weights_in(json["weights"], sources, "\"weights\"");
  std::vector<Dataset> datasets;
  for (const MixtureSource& source : sources) datasets.push_back(source.dataset);
  return weights_by_size(datasets,
                         json.contains("temperature") ? number_in(json["temperature"], "\"temperature\"") : 1);
}

MixtureOptions options_in(const nlohmann::json& json, const std::vector<MixtureSource>& sources) {
  MixtureOptions options;
  if (json.contains("stop")) set_stop(json["stop"], options);
  if (json.contains("sampling")) {
    if (json["sampling"] == "random") options.sampling = Sampling::random;
    if (json["sampling"] != "random" && json["sampling"] != "shares")
      refuse_mixture("\"sampling\" is not \"shares\" or \"random\"");
  }
  if (json.contains("on_change")) {
    options.carry = json["on_change"] == "carry";
    if (!options.carry && json["on_change"] != "raise") refuse_mixture("\"on_change\" is not \"raise\" or \"carry\"");
  }
  if (json.contains("schedule")) {
    if (!json["schedule"].is_array()) refuse_mixture("\"schedule\" is not a list of [position, weights]");
    for (const nlohmann::json& change : json["schedule"]) {
      if (!change.is_array() || change.size() != 2) refuse_mixture("\"schedule\" is not a list of [position, weights]");
      options.schedule.push_back({.position = whole_in(change[0], "a position of \"schedule\""),
                                  .weights = weights_in(change[1], sources, "\"schedule\"")});
    }
  }
  return options;
}

Mixture mixture_in(const nlohmann::json& json, const std::filesystem::path& folder) {
  if (!json.is_object()) refuse_mixture("it is not a JSON object");
  if (json.contains("carry"))
    refuse_mixture(
        "it has \"carry\", which is now \"on_change\": write \"carry\" instead of true, \"raise\" instead of false");
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(kMembers, name) == kMembers.end())
      refuse_mixture("it has the unknown member " + double_quoted(name));
  if (!json.contains("sources")) refuse_mixture("it has no \"sources\"");
  std::vector<MixtureSource> sources = sources_in(json["sources"], folder);
  const std::vector<double> weights = weights_of_sources(json, sources);
  for (std::size_t s = 0; s < sources.size(); ++s) sources[s].weight = weights[s];
  const MixtureOptions options = options_in(json, sources);
  return Mixture(std::move(sources), options);
}

}  // namespace

bool is_mixture_file(const std::filesystem::path& path) {
  std::error_code failure;
  return path.extension() == ".json" && std::filesystem::is_regular_file(path, failure);
}

Mixture read_mixture(const std::filesystem::path& path) {
  try {
    const std::string text = read_text_file(path);
    const JsonDocument document(text);
    return mixture_in(document.root(), path.parent_path());
  } catch (const nlohmann::json::exception&) {
    throw Error::invalid_argument("the file of a mixture is not valid JSON", {.dataset = path.string()});
  } catch (const Error& error) {
    throw error.in({.dataset = path.string()});
  }
}

}  // namespace penstock
