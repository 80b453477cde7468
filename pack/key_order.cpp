#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include <base/printable.hpp>
#include <formats/dataset.hpp>
#include <formats/index/rewritten.hpp>
#include <pack/key_order.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Returns the first two samples in `order` that have the same key.
std::optional<std::pair<std::uint64_t, std::uint64_t>> repeated(const Dataset& dataset,
                                                                const std::vector<std::uint64_t>& order) {
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (dataset.key(order[i - 1]) == dataset.key(order[i])) return std::pair{order[i - 1], order[i]};
  }
  return std::nullopt;
}

// A dataset of one file has the path of that file, so the shard's name must not be appended again.
fs::path path_of(const Dataset& dataset, std::size_t shard) {
  const fs::path& opened = dataset.path_of_shard(shard);
  const std::string& name = dataset.shard(shard).name;
  return opened.filename() == name ? opened : opened / name;
}

// Returns the parts of the shards' paths that differ, without extension: "/data/{a,b}/x.tar" gives "a" and "b".
std::vector<std::string> names_of(const Dataset& dataset) {
  std::vector<std::vector<std::string>> paths;
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) {
    std::vector<std::string>& parts = paths.emplace_back();
    for (const fs::path& part : path_of(dataset, shard).lexically_normal()) {
      if (!part.empty()) parts.push_back(part.string());
    }
  }
  const auto all_have = [&](const auto& part_of) {
    return std::ranges::all_of(
        paths, [&](const auto& parts) { return parts.size() > 1 && part_of(parts) == part_of(paths.front()); });
  };
  while (all_have([](const auto& parts) { return parts.front(); })) {
    for (auto& parts : paths) parts.erase(parts.begin());
  }
  while (all_have([](const auto& parts) { return parts.back(); })) {
    for (auto& parts : paths) parts.pop_back();
  }
  std::vector<std::string> names;
  for (const auto& parts : paths) {
    fs::path name;
    for (const std::string& part : parts) name /= part;
    names.push_back(name.replace_extension().string());
  }
  return names;
}

std::string name_of(const Dataset& dataset, std::uint64_t sample) {
  return path_of(dataset, dataset.shard_of(sample)).string();
}

[[noreturn]] void refuse(const Dataset& dataset, std::pair<std::uint64_t, std::uint64_t> samples) {
  const ErrorContext where{.dataset = dataset.path().string(), .key = std::string(dataset.key(samples.first))};
  const std::string first = name_of(dataset, samples.first), second = name_of(dataset, samples.second);
  if (first == second) throw Error::corrupt("two samples of " + first + " have this key", where);
  throw Error::invalid_argument("a sample of " + first + " and one of " + second +
                                    " have this key, and the names of their shards are equal; pack the shards one by "
                                    "one, or rename one of the files",
                                where);
}

// Generated samples, and fields borrowed from other shards, have no stored keys that could be rewritten.
bool can_rename(const Dataset& dataset) {
  for (std::size_t number = 0; number < dataset.shard_count(); ++number) {
    const Dataset::Shard& shard = dataset.shard(number);
    if (shard.index.made() != nullptr || shard.borrowed != 0) return false;
  }
  return dataset.shard_count() > 1;
}

Dataset with_shards_in_keys(const Dataset& dataset) {
  const std::vector<std::string> names = names_of(dataset);
  std::vector<Dataset::Shard> shards;
  for (std::size_t number = 0; number < dataset.shard_count(); ++number) {
    Dataset::Shard shard = dataset.shard(number);
    shard.dataset = dataset.path_of_shard(number);
    shard.renamed = rewritten(shard.names(), {}, names[number] + "/");
    shard.typed.reset();
    shards.push_back(std::move(shard));
  }
  const Dataset all(dataset.path(), std::string(dataset.format()), std::move(shards),
                    {dataset.classes().begin(), dataset.classes().end()}, dataset.packed(),
                    std::string(dataset.attributes()));
  return dataset.is_view() ? Dataset(all, dataset.choice()) : all;
}

}  // namespace

std::vector<std::uint64_t> samples_by_key(const Dataset& dataset) {
  const auto before = [&](std::uint64_t a, std::uint64_t b) { return dataset.key(a) < dataset.key(b); };
  std::vector<std::uint64_t> order(dataset.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  return order;
}

KeyOrder key_order(const Dataset& dataset) {
  KeyOrder given{.dataset = dataset, .samples = samples_by_key(dataset)};
  const auto same = repeated(dataset, given.samples);
  if (!same) return given;
  if (dataset.shard_of(same->first) == dataset.shard_of(same->second) || !can_rename(dataset)) refuse(dataset, *same);
  const Dataset longer = with_shards_in_keys(dataset);
  KeyOrder renamed{.dataset = longer, .samples = samples_by_key(longer)};
  if (const auto again = repeated(renamed.dataset, renamed.samples)) refuse(dataset, *again);
  renamed.example = one_line(dataset.key(same->first)) + " of " + name_of(dataset, same->first) + " is " +
                    one_line(renamed.dataset.key(same->first));
  return renamed;
}

}  // namespace penstock
