#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/dataset.hpp>
#include <formats/io/hash.hpp>
#include <formats/lists/sample_list.hpp>
#include <penstock/error.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

// Returns the fields taken from the other dataset: their names there, and in the result.
Names taken_fields(const Dataset& dataset, const Dataset& other, const Names& asked) {
  Names taken = asked;
  if (asked.empty()) {
    for (const FieldSchema& field : other.fields()) {
      if (!dataset.field(field.name)) taken.emplace_back(field.name, field.name);
    }
  }
  const ErrorContext where{.dataset = other.path().string()};
  if (taken.empty()) {
    throw Error::invalid_argument(
        "has no field that " + dataset.path().string() + " lacks: name the fields to join, and their new names", where);
  }
  for (auto field = taken.begin(); field != taken.end(); ++field) {
    if (!other.field(field->first))
      throw Error::invalid_argument(
          "there is no field " + double_quoted(field->first) + " to join" + and_why_no_field(other, field->first),
          where);
    const bool twice =
        std::any_of(taken.begin(), field, [&](const auto& each) { return each.second == field->second; });
    if (dataset.field(field->second) || twice || field->second.empty()) {
      throw Error::invalid_argument("the joined field " + double_quoted(field->first) +
                                        " requires a new name: " + double_quoted(field->second) + " already exists",
                                    where);
    }
  }
  return taken;
}

// Finds samples by key. Takes 16 bytes per sample.
class KeyTable {
 public:
  explicit KeyTable(const Dataset& dataset) : dataset_(dataset) {
    entries_.reserve(dataset.size());
    for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
      entries_.emplace_back(hash64(dataset.key(sample)), sample);
    std::ranges::sort(entries_);
  }

  std::optional<std::uint64_t> find(std::string_view key) const {
    const std::uint64_t hash = hash64(key);
    auto entry = std::ranges::lower_bound(entries_, std::pair(hash, std::uint64_t{0}));
    for (; entry != entries_.end() && entry->first == hash; ++entry) {
      if (dataset_.key(entry->second) == key) return entry->second;
    }
    return std::nullopt;
  }

 private:
  const Dataset& dataset_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries_;
};

struct Partners {
  SampleListBuilder ours, theirs;  // positions in each
  std::uint64_t without = 0;
};

Partners partners_of(const Dataset& dataset, const Dataset& other, bool leave_out) {
  const KeyTable table(other);
  Partners partners;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    const auto partner = table.find(dataset.key(sample));
    if (!partner) {
      if (!leave_out) {
        throw Error::invalid_argument(
            other.path().string() + " has no sample with this key to join; samples without a partner can be left out",
            {.dataset = dataset.path().string(), .key = std::string(dataset.key(sample))});
      }
      ++partners.without;
      continue;
    }
    partners.ours.add(sample);
    partners.theirs.add(*partner);
  }
  return partners;
}

void add_shards(std::vector<Dataset::Shard>& shards, const Dataset& dataset, const Names* taken) {
  for (std::size_t number = 0; number < dataset.shard_count(); ++number) {
    Dataset::Shard shard = dataset.shard(number);
    shard.dataset = dataset.path_of_shard(number);
    if (taken != nullptr) {
      std::vector<std::string> names;
      for (std::size_t own = 0; own < shard.index.fields().size(); ++own) {
        const std::string& known = shard.fields.empty() ? shard.index.fields()[own].name : shard.fields[own];
        const auto found = std::ranges::find(*taken, known, &std::pair<std::string, std::string>::first);
        names.push_back(found == taken->end() ? std::string() : found->second);
      }
      shard.fields = std::move(names);
    }
    shards.push_back(std::move(shard));
  }
}

}  // namespace

Dataset joined(const Dataset& dataset, const Dataset& other, const JoinOptions& options) {
  const Names taken = taken_fields(dataset, other, options.fields);
  Partners partners = partners_of(dataset, other, options.leave_out);
  const SampleList ours = std::move(partners.ours).finish(), theirs = std::move(partners.theirs).finish();

  std::vector<Dataset::Shard> shards;
  add_shards(shards, dataset, nullptr);
  const std::uint64_t others_first = dataset.first_sample(dataset.shard_count());
  add_shards(shards, other, &taken);
  std::string format(dataset.format());
  if (other.format() != dataset.format()) format += "+" + std::string(other.format());
  const Dataset whole(dataset.path().string() + " + " + other.path().string(), std::move(format), std::move(shards),
                      {dataset.classes().begin(), dataset.classes().end()}, false);

  const Dataset::Choice own = dataset.choice(), partner = other.choice();
  Dataset::Choice choice{.samples = own.samples.at(ours)};
  for (const SampleList& list : own.joined) choice.joined.push_back(list.at(ours));
  std::map<std::uint32_t, std::uint32_t> known;  // lists of the other dataset
  for (const FieldSchema& field : whole.fields()) {
    if (const auto here = dataset.field(field.name)) {
      choice.list_of_field.push_back(own.list_of(*here));
      continue;
    }
    const auto name = std::ranges::find(taken, field.name, &std::pair<std::string, std::string>::second);
    const std::uint32_t there = *other.field(name->first);
    const std::uint32_t list = partner.list_of(there);
    const auto [place, added] = known.try_emplace(list, static_cast<std::uint32_t>(choice.joined.size() + 1));
    if (added) choice.joined.push_back(partner.list(list).at(theirs).shifted(others_first));
    choice.list_of_field.push_back(place->second);
  }
  std::string names;
  for (const auto& [there, here] : taken) names += (names.empty() ? "" : ", ") + one_line(here);
  choice.about = own.about + (own.about.empty() ? "" : ", ") + "join " + names;
  if (partners.without != 0) choice.about += " (" + with_commas(partners.without) + " without a partner left out)";
  choice.among = own.about.empty() ? dataset.size() : own.among;
  return Dataset(whole, std::move(choice));
}

}  // namespace penstock
