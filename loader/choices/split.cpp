#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include <base/printable.hpp>
#include <formats/column.hpp>
#include <formats/io/hash.hpp>
#include <formats/lists/sample_list.hpp>
#include <loader/choices/values.hpp>
#include <order/permutation/permutation_rounds.hpp>
#include <penstock/error.hpp>
#include <penstock/select.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

constexpr double kNearlyOne = 1e-6;

std::string share_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", share);
  return text;
}

// Returns the upper end of each part, as a fraction of 1.
std::vector<double> ends_of(const std::vector<SplitPart>& parts) {
  if (parts.empty())
    throw Error::invalid_argument("a split requires parts and their shares, such as train 0.9, val 0.1");
  std::set<std::string> names;
  std::vector<double> sums;
  double sum = 0;
  bool whole = true;
  for (const SplitPart& part : parts) {
    if (!std::isfinite(part.share) || part.share <= 0) {
      throw Error::invalid_argument("the share of \"" + one_line(part.name) + "\" is " + share_text(part.share) +
                                    "; a share must be a number above 0");
    }
    if (!names.insert(part.name).second)
      throw Error::invalid_argument("two parts are called \"" + one_line(part.name) + "\"");
    whole = whole && part.share == std::floor(part.share);
    sums.push_back(sum += part.share);
  }
  if (!whole && std::abs(sum - 1) > kNearlyOne) {
    throw Error::invalid_argument("the shares add up to " + share_text(sum) +
                                  ", not to 1; name a part for the rest, or pass whole numbers as proportions");
  }
  for (double& end : sums) end /= sum;
  return sums;
}

std::uint32_t part_at(const std::vector<double>& ends, double place) {
  const auto found = std::ranges::find_if(ends, [place](double end) { return place < end; });
  return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(found - ends.begin(), std::ssize(ends) - 1));
}

std::uint32_t part_of_hash(const std::vector<double>& ends, std::uint64_t hash) {
  return part_at(ends, static_cast<double>(hash >> 11) * 0x1p-53);
}

// Calls `take` with each sample's hash and its value of the stratifying column.
template <typename Take>
void for_each_hash(const Dataset& dataset, const SplitOptions& options, const std::function<void()>& tick,
                   const Take& take) {
  std::vector<std::uint32_t> fields;
  std::optional<Column> by, stratum;
  if (!options.group && options.by != "key") by.emplace(dataset, options.by);
  if (!options.stratify.empty()) stratum.emplace(dataset, options.stratify);
  if (by) fields.push_back(by->field());
  const bool shared = by && stratum && stratum->field() == by->field();
  if (stratum && !shared) fields.push_back(stratum->field());
  for_each_sample(
      dataset, fields,
      [&](const SampleValues& sample) {
        const std::uint64_t hash = options.group ? split_hash(options.group(sample.sample, sample.key), options.seed)
                                   : by          ? split_hash(by->text(sample, 0), options.seed)
                                                 : split_hash(sample.key, options.seed);
        take(hash, stratum ? stratum->text(sample, fields.size() - 1) : std::string());
      },
      tick);
}

// Assigns groups to parts by hash, so that each value gets its shares.
class Strata {
 public:
  void add(std::uint64_t hash, const std::string& text) {
    hashes_.push_back(hash);
    const auto [known, added] = numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size()));
    strata_.push_back(known->second);
  }

  const std::vector<std::uint64_t>& hashes() const { return hashes_; }

  std::unordered_map<std::uint64_t, std::uint32_t> parts(const std::vector<double>& ends) {
    std::vector<Group> groups = this->groups();
    std::ranges::sort(groups, {}, [](const Group& group) { return std::tuple(group.stratum, group.hash); });
    std::unordered_map<std::uint64_t, std::uint32_t> parts;
    for (auto begin = groups.begin(); begin != groups.end();) {
      const auto end =
          std::find_if(begin, groups.end(), [&](const Group& each) { return each.stratum != begin->stratum; });
      std::uint64_t all = 0, before = 0;
      for (auto group = begin; group != end; ++group) all += group->samples;
      for (; begin != end; ++begin) {
        const double middle = static_cast<double>(2 * before + begin->samples) / static_cast<double>(2 * all);
        parts.emplace(begin->hash, part_at(ends, middle));
        before += begin->samples;
      }
    }
    return parts;
  }

 private:
  struct Group {
    std::uint32_t stratum;  // the most frequent among its samples
    std::uint64_t hash, samples;
  };

  // Numbers the strata in the order of their texts, so that the first one wins between equally frequent ones.
  std::vector<Group> groups() const {
    std::vector<std::uint32_t> ordered(numbers_.size());
    std::uint32_t next = 0;
    for (const auto& [text, number] : numbers_) ordered[number] = next++;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> samples;
    for (std::size_t i = 0; i < hashes_.size(); ++i) samples.emplace_back(hashes_[i], ordered[strata_[i]]);
    std::ranges::sort(samples);
    std::vector<Group> groups;
    for (std::size_t begin = 0; begin < samples.size();) {
      Group group{.stratum = 0, .hash = samples[begin].first, .samples = 0};
      std::uint64_t most = 0;
      while (begin < samples.size() && samples[begin].first == group.hash) {
        const auto same = std::find_if(samples.begin() + static_cast<std::ptrdiff_t>(begin), samples.end(),
                                       [&](const auto& each) { return each != samples[begin]; });
        const auto count = static_cast<std::uint64_t>(same - samples.begin()) - begin;
        if (count > most) group.stratum = samples[begin].second;
        most = std::max(most, count);
        group.samples += count;
        begin += count;
      }
      groups.push_back(group);
    }
    return groups;
  }

  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> strata_;
};

}  // namespace

std::uint64_t split_hash(std::string_view group, std::uint64_t seed) {
  return mix64(hash64(group) + seed * kGolden);
}

std::vector<std::pair<std::string, Dataset>> split(const Dataset& dataset, const std::vector<SplitPart>& parts,
                                                   const SplitOptions& options, const std::function<void()>& tick) {
  const std::vector<double> ends = ends_of(parts);
  std::vector<SampleListBuilder> lists(parts.size());
  std::uint64_t sample = 0;
  if (options.stratify.empty()) {
    for_each_hash(dataset, options, tick,
                  [&](std::uint64_t hash, const std::string&) { lists[part_of_hash(ends, hash)].add(sample++); });
  } else {
    Strata strata;
    for_each_hash(dataset, options, tick, [&](std::uint64_t hash, const std::string& text) { strata.add(hash, text); });
    const auto part_of = strata.parts(ends);
    for (const std::uint64_t hash : strata.hashes()) lists[part_of.at(hash)].add(sample++);
  }
  std::vector<std::pair<std::string, Dataset>> views;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::string about = "part " + parts[part].name + " (" + share_text(parts[part].share) + " by " +
                              (options.group ? "a function" : options.by) + ")";
    views.emplace_back(parts[part].name, choose(dataset, std::move(lists[part]).finish(), about));
  }
  return views;
}

}  // namespace penstock
