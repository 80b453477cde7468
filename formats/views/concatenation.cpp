#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/labels/shared_classes.hpp>
#include <formats/lists/sample_list.hpp>
#include <penstock/error.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

constexpr std::size_t kNamedParts = 3;

std::string name_of_all(std::span<const Dataset> datasets) {
  std::string name;
  for (std::size_t i = 0; i < std::min(datasets.size(), kNamedParts); ++i)
    name += (i == 0 ? "" : " + ") + datasets[i].path().string();
  if (datasets.size() > kNamedParts) name += " + " + std::to_string(datasets.size() - kNamedParts) + " more";
  return name;
}

std::string format_of_all(std::span<const Dataset> datasets) {
  std::string all;
  std::vector<std::string_view> met;
  for (const Dataset& dataset : datasets) {
    if (std::ranges::find(met, dataset.format()) != met.end()) continue;
    met.push_back(dataset.format());
    all += (all.empty() ? "" : "+") + std::string(dataset.format());
  }
  return all;
}

std::vector<std::string> classes_of_all(std::span<const Dataset> datasets) {
  const Dataset* known = nullptr;
  for (const Dataset& dataset : datasets) {
    if (dataset.classes().empty()) continue;
    if (known == nullptr) known = &dataset;
    const auto ours = known->classes(), theirs = dataset.classes();
    if (std::ranges::equal(ours, theirs)) continue;
    const ClassDifference differ = class_difference(ours, theirs);
    throw Error::invalid_argument("datasets with different classes cannot be concatenated: for class " +
                                  std::to_string(differ.number) + " " + known->path().string() + " has " +
                                  differ.first + ", " + dataset.path().string() + " has " + differ.second +
                                  "; pack one of them with the classes of the other (--classes)");
  }
  if (known == nullptr) return {};
  return {known->classes().begin(), known->classes().end()};
}

// Assigns the first shard and sample number to the shards of each dataset. Views of the same shards share them.
class Shards {
 public:
  // Returns the number of the dataset's first stored sample.
  std::uint64_t add(const Dataset& dataset) {
    for (const auto& [known, first] : known_) {
      if (known->shares_shards(dataset)) return first;
    }
    const std::uint64_t first = samples_;
    for (std::size_t number = 0; number < dataset.shard_count(); ++number) {
      Dataset::Shard shard = dataset.shard(number);
      shard.dataset = dataset.path_of_shard(number);
      samples_ += shard.index.size();
      shards_.push_back(std::move(shard));
    }
    known_.emplace_back(&dataset, first);
    return first;
  }

  std::vector<Dataset::Shard> take() { return std::move(shards_); }

 private:
  std::vector<Dataset::Shard> shards_;
  std::vector<std::pair<const Dataset*, std::uint64_t>> known_;
  std::uint64_t samples_ = 0;
};

// Returns for each dataset the number of the list that a field comes from: 0, or 1 plus the number of a joined list.
std::vector<std::uint32_t> lists_of(const std::string& field, std::span<const Dataset> datasets,
                                    std::span<const Dataset::Choice> choices) {
  std::vector<std::uint32_t> lists;
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    const auto own = datasets[i].field(field);
    lists.push_back(own ? choices[i].list_of(*own) : 0);
  }
  return lists;
}

}  // namespace

Dataset concatenated(std::span<const Dataset> datasets) {
  if (datasets.empty()) throw Error::invalid_argument("no dataset to concatenate");
  const std::string name = name_of_all(datasets);
  Shards shards;
  std::vector<Dataset::Choice> choices;
  std::vector<std::uint64_t> firsts;
  for (const Dataset& dataset : datasets) {
    choices.push_back(dataset.choice());
    firsts.push_back(shards.add(dataset));
  }
  const Dataset whole(name, format_of_all(datasets), shards.take(), classes_of_all(datasets), false);

  const auto list_of = [&](std::span<const std::uint32_t> lists) {
    SampleList all;
    for (std::size_t i = 0; i < choices.size(); ++i) all.append(choices[i].list(lists[i]).shifted(firsts[i]));
    return all;
  };
  const std::vector<std::uint32_t> keys(datasets.size(), 0);
  Dataset::Choice choice{.samples = list_of(keys)};
  std::map<std::vector<std::uint32_t>, std::uint32_t> known{{keys, 0}};
  for (const FieldSchema& field : whole.fields()) {
    const auto [place, added] = known.try_emplace(lists_of(field.name, datasets, choices),
                                                  static_cast<std::uint32_t>(choice.joined.size() + 1));
    if (added) choice.joined.push_back(list_of(place->first));
    choice.list_of_field.push_back(place->second);
  }
  choice.among = choice.samples.size();
  return Dataset(whole, std::move(choice));
}

}  // namespace penstock
