#include <algorithm>
#include <charconv>

#include <base/printable.hpp>
#include <formats/index/attributes.hpp>
#include <formats/index/rewritten.hpp>
#include <formats/labels/shared_classes.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/rows/read_table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using ClassNames = std::vector<std::string>;

struct ShardClasses {
  ClassNames names = {};
  bool from_folders = false;  // false: the shard stores them
};

// Shards of a packed dataset that are opened as single files use the class list in its penstock.json.
ClassNames classes_beside(const Dataset::Shard& shard) {
  const std::filesystem::path manifest = shard.root / Manifest::kFileName;
  std::error_code ignored;
  if (!shard.objects.empty() || !std::filesystem::is_regular_file(manifest, ignored)) return {};
  return Manifest::from_json(read_text_file(manifest)).classes;
}

ShardClasses classes_of(const Dataset::Shard& shard) {
  const nlohmann::json json = attributes_of(shard.index);
  if (!json.contains("classes")) return {.names = classes_beside(shard)};
  try {
    return {.names = json.at("classes").get<ClassNames>(), .from_folders = json.value("layout", "") == "class folders"};
  } catch (const nlohmann::json::exception&) {
    throw Error::corrupt("broken index: class names");
  }
}

ClassNames sorted_union(const std::vector<ShardClasses>& all) {
  ClassNames names;
  for (const ShardClasses& classes : all) names.insert(names.end(), classes.names.begin(), classes.names.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

[[noreturn]] void refuse_lists(const Dataset::Shard& one, const ClassNames& ones, const Dataset::Shard& other,
                               const ClassNames& others) {
  const ClassDifference differ = class_difference(ones, others);
  throw Error::invalid_argument("the shards name different classes: class " + std::to_string(differ.number) + " is " +
                                differ.first + " in " + one.name + " and " + differ.second + " in " + other.name +
                                "; open them one by one, and pack one with the classes of the other (--classes)");
}

// Converts labels from the classes `own` to the classes `all`.
void renumber(Dataset::Shard& shard, const ClassNames& own, const ClassNames& all) {
  std::vector<std::string> labels;
  for (const std::string& name : own) {
    const auto found = std::ranges::find(all, name);
    if (found == all.end())
      throw Error::invalid_argument("the class " + double_quoted(name) + " is not among the " +
                                        std::to_string(all.size()) + " names of the option classes",
                                    {.shard = shard.name});
    labels.push_back(std::to_string(found - all.begin()));
  }
  const auto field = std::ranges::find(shard.index.fields(), "cls", &FieldSchema::name);
  const bool same = std::ranges::equal(own, std::span(all).first(std::min(own.size(), all.size())));
  if (same || field == shard.index.fields().end()) return;
  const auto relabel = [&](std::span<const std::byte> value) {
    const auto number = class_number(value, labels.size());
    if (!number) throw Error::corrupt("broken index: a label is not the number of a class");
    const auto label = std::as_bytes(std::span(labels[*number]));
    return std::vector<std::byte>(label.begin(), label.end());
  };
  const FieldRewrite rewrite{.field = static_cast<std::uint32_t>(field - shard.index.fields().begin()),
                             .schema = *field,
                             .value = inline_values(relabel)};
  shard.renamed = rewritten(shard.index, std::span(&rewrite, 1));
}

}  // namespace

std::optional<std::uint64_t> class_number(std::span<const std::byte> value, std::uint64_t classes) {
  const char* const text = reinterpret_cast<const char*>(value.data());
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text, text + value.size(), number);
  if (failure != std::errc{} || end != text + value.size() || number >= classes) return std::nullopt;
  return number;
}

ClassDifference class_difference(std::span<const std::string> first, std::span<const std::string> second) {
  const auto number = static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
  const auto at = [number](std::span<const std::string> names) {
    return number < names.size() ? double_quoted(names[number]) : std::to_string(names.size()) + " classes";
  };
  return {.number = number, .first = at(first), .second = at(second)};
}

std::vector<std::string> share_classes(std::vector<Dataset::Shard>& shards, const std::vector<std::string>& wanted) {
  std::vector<ShardClasses> all;
  for (const Dataset::Shard& shard : shards) all.push_back(classes_of(shard));
  std::optional<std::size_t> listing;
  bool from_folders = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    from_folders = from_folders || all[i].from_folders;
    if (all[i].names.empty() || all[i].from_folders) continue;
    if (!wanted.empty() && all[i].names != wanted)
      throw Error::invalid_argument("stores class names other than those of the option classes",
                                    {.shard = shards[i].name});
    if (!listing) listing = i;
    if (all[*listing].names != all[i].names)
      refuse_lists(shards[*listing], all[*listing].names, shards[i], all[i].names);
  }
  if (!from_folders) return listing ? all[*listing].names : wanted;
  ClassNames names = wanted.empty() ? sorted_union(all) : wanted;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].from_folders) renumber(shards[i], all[i].names, names);
  }
  return names;
}

}  // namespace penstock
