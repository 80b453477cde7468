#include <algorithm>

#include <base/printable.hpp>
#include <formats/dataset.hpp>
#include <formats/lists/sample_list.hpp>
#include <penstock/views.hpp>

namespace penstock {
namespace {

constexpr std::size_t kLongestAbout = 200;  // bytes

// Joins the descriptions of a chain of choices. Omits the middle of a long description.
std::string joined_about(const std::string& before, const std::string& added) {
  std::string all = before.empty() || added.empty() ? before + added : before + ", " + added;
  all = one_line(all);
  if (all.size() <= kLongestAbout) return all;
  std::size_t begin = kLongestAbout / 2, end = all.size() - kLongestAbout / 2;
  while (begin > 0 && (static_cast<unsigned char>(all[begin]) & 0xC0) == 0x80) --begin;
  while (end < all.size() && (static_cast<unsigned char>(all[end]) & 0xC0) == 0x80) ++end;
  return all.substr(0, begin) + "..." + all.substr(end);
}

Dataset::Choice chosen(Dataset::Choice choice, const SampleList& positions) {
  choice.samples = choice.samples.at(positions);
  for (SampleList& list : choice.joined) list = list.at(positions);
  return choice;
}

}  // namespace

Dataset choose(const Dataset& dataset, const SampleList& positions, const std::string& about) {
  Dataset::Choice choice = chosen(dataset.choice(), positions);
  choice.about = positions.empty() ? about : joined_about(choice.about, about);
  if (positions.empty()) choice.among = dataset.size();
  return Dataset(dataset, std::move(choice));
}

Dataset take(const Dataset& dataset, std::uint64_t count) {
  return choose(dataset, SampleList::range(0, std::min(count, dataset.size())), "take " + with_commas(count));
}

Dataset skip(const Dataset& dataset, std::uint64_t count) {
  const std::uint64_t skipped = std::min(count, dataset.size());
  return choose(dataset, SampleList::range(skipped, dataset.size() - skipped), "skip " + with_commas(count));
}

}  // namespace penstock
