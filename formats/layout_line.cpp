#include <cstdint>
#include <set>
#include <utility>

#include <base/printable.hpp>
#include <formats/dataset.hpp>
#include <formats/format.hpp>
#include <formats/index/attributes.hpp>
#include <formats/layout_line.hpp>
#include <penstock/open_options.hpp>

namespace penstock {
namespace {

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return with_commas(count) + " " + (count == 1 ? one : many);
}

// The distinct values of a text in the attributes of all shards, separated by commas.
std::string in_attributes(const Dataset& dataset, const char* name) {
  std::set<std::string> values;
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) {
    const auto json = attributes_of(dataset.shard(shard).index);
    if (json.contains(name) && json[name].is_string()) values.insert(one_line(json[name].get<std::string>()));
  }
  return joined_text(values, ", ");
}

std::string key_rule(const Dataset& dataset) {
  const std::string rule = in_attributes(dataset, "key");
  if (rule == "last_dot") return ", keys end at the last dot";
  if (rule == "first_dot") return ", words between dots belong to fields";
  return rule.empty() ? "" : ", keys end at the last dot in some shards";
}

}  // namespace

// A number counts files; an object contains names and reasons.
std::map<std::string, std::string> left_out(const Dataset& dataset) {
  std::map<std::string, std::string> all;
  std::uint64_t files = 0, databases = 0, values = 0, members = 0;
  std::string example;
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) {
    const auto json = attributes_of(dataset.shard(shard).index);
    for (const auto& [name, sum] : {std::pair{"left_out_databases", &databases}, std::pair{"left_out_values", &values},
                                    std::pair{"left_out_members", &members}}) {
      if (json.contains(name) && json[name].is_number_unsigned()) *sum += json[name].get<std::uint64_t>();
    }
    if (!json.contains("left_out")) continue;
    const auto& what = json["left_out"];
    if (what.is_number_unsigned()) files += what.get<std::uint64_t>();
    if (const auto& named = json.value("left_out_example", nlohmann::json()); named.is_string() && example.empty())
      example = one_line(named.get<std::string>());
    if (!what.is_object()) continue;
    for (const auto& [name, reason] : what.items()) {
      if (reason.is_string()) all.emplace(name, reason.get<std::string>());
    }
  }
  if (files != 0)
    all.emplace("files", with_commas(files) + " that are not fields of a sample" +
                             (example.empty() ? "" : ", such as " + example));
  if (values != 0) all.emplace("values", with_commas(values) + " that describe the file or belong to no sample");
  if (members != 0) all.emplace("members", with_commas(members) + " lists and maps inside values");
  if (databases != 0) all.emplace("databases", with_commas(databases) + " named ones inside the main one");
  return all;
}

std::string layout_line(const Dataset& dataset) {
  const bool folder = format_of(dataset).loose;
  std::string line = folder ? "folder of files" : std::string(dataset.format());
  if (dataset.packed()) line += ", packed by penstock";
  if (!folder) line += ", " + counted(dataset.shard_count(), "shard", "shards");
  if (const std::string layout = in_attributes(dataset, "layout"); !layout.empty()) line += ": " + layout;
  if (!dataset.classes().empty()) line += ", " + counted(dataset.classes().size(), "class", "classes");
  line += key_rule(dataset);
  if (dataset.shard_count() != 0) line += options_text(options_of(dataset.shard(0)));
  const char* between = "; left out: ";
  for (const auto& [name, reason] : left_out(dataset)) {
    const bool counts = name == "files" || name == "values" || name == "members" || name == "databases";
    line += between + (counts ? reason : one_line(name) + " (" + one_line(reason) + ")");
    between = ", ";
  }
  return line;
}

}  // namespace penstock
