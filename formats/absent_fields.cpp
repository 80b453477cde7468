#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/dataset.hpp>
#include <formats/index/attributes.hpp>
#include <formats/index/index.hpp>

namespace penstock {
namespace {

// If "a/b" was left out, "a/b/c" was left out with it.
std::string why_left_out(const nlohmann::json& left_out, std::string_view field) {
  for (std::string_view path = field;; path = path.substr(0, path.rfind('/'))) {
    const auto found = left_out.find(path);
    if (found != left_out.end() && found->is_string())
      return (path == field ? "it" : double_quoted(path)) + " was left out: " + found->get<std::string>();
    if (path.find('/') == std::string_view::npos) return {};
  }
}

std::string why_not_in(const Index& index, std::string_view field) {
  const auto json = attributes_of(index);
  if (const auto left_out = json.find("left_out"); left_out != json.end() && left_out->is_object()) {
    if (std::string why = why_left_out(*left_out, field); !why.empty()) return why;
  }
  if (field.find('/') != std::string_view::npos && json.value("layout", "") == kDatasetForEachSample)
    return "the groups of the file are read as a dataset for each sample, not as columns";
  return {};
}

}  // namespace

std::string why_no_field(const Dataset& dataset, std::string_view field, std::optional<std::size_t> shard) {
  const std::size_t end = shard ? *shard + 1 : dataset.shard_count();
  for (std::size_t number = shard.value_or(0); number < end; ++number) {
    const Dataset::Shard& each = dataset.shard(number);
    const std::string why = why_not_in(each.index, field);
    if (!why.empty()) return why + (dataset.shard_count() > 1 ? " (in " + each.name + ")" : "");
  }
  return {};
}

std::string and_why_no_field(const Dataset& dataset, std::string_view field, std::optional<std::size_t> shard) {
  const std::string why = why_no_field(dataset, field, shard);
  return why.empty() ? why : "; " + why;
}

}  // namespace penstock
