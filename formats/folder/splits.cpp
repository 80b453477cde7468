#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include <base/printable.hpp>
#include <formats/folder/splits.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Groups as in Hugging Face's `datasets` (data_files.py, SPLIT_KEYWORDS).
struct SplitName {
  std::string_view name;
  int kind;
};
constexpr std::array<SplitName, 9> kSplits{{{"train", 0},
                                            {"training", 0},
                                            {"val", 1},
                                            {"valid", 1},
                                            {"validation", 1},
                                            {"dev", 1},
                                            {"test", 2},
                                            {"testing", 2},
                                            {"eval", 2}}};
constexpr int kNoSplit = -1;

std::string lower(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

int kind_of(std::string_view name) {
  constexpr std::size_t kYear = 4;  // train2017
  constexpr auto kDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.size() > kYear && std::ranges::all_of(name.substr(name.size() - kYear), kDigit)) name.remove_suffix(kYear);
  const auto* found = std::ranges::find(kSplits, lower(name), &SplitName::name);
  return found == kSplits.end() ? kNoSplit : found->kind;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + one_line(names[i]);
  return text + (names.size() > kMost ? ", ..." : "");
}

}  // namespace

bool is_split_name(std::string_view name) {
  return kind_of(name) != kNoSplit;
}

std::string split_in_name(std::string_view name) {
  if (name.starts_with("data_batch_")) return "train";  // of CIFAR-10, beside test_batch
  std::string split;
  for (std::size_t begin = 0; begin < name.size();) {
    const auto end = std::find_if_not(name.begin() + static_cast<std::ptrdiff_t>(begin), name.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0; });
    const std::string_view word = name.substr(begin, static_cast<std::size_t>(end - name.begin()) - begin);
    if (is_split_name(word)) {
      if (!split.empty()) return {};
      split = lower(word);
    }
    begin += word.size() + 1;
  }
  return split;
}

bool are_several_splits(const std::vector<std::string>& names) {
  return are_split_names(names) &&
         std::ranges::any_of(names, [&](const std::string& name) { return kind_of(name) != kind_of(names.front()); });
}

bool are_split_names(const std::vector<std::string>& names) {
  return !names.empty() && std::ranges::all_of(names, is_split_name);
}

std::string split_among(const std::vector<std::string>& names, std::string_view split) {
  if (std::ranges::find(names, split) != names.end()) return std::string(split);
  std::vector<std::string> same_kind;
  for (const std::string& name : names) {
    if (kind_of(name) != kNoSplit && kind_of(name) == kind_of(split)) same_kind.push_back(name);
  }
  if (same_kind.size() == 1) return same_kind.front();
  if (same_kind.size() > 1)
    throw Error::invalid_argument("split " + double_quoted(split) + " matches each of " + listed(same_kind) +
                                  ": name one of them");
  throw Error::invalid_argument(
      "there is no folder of the split " + double_quoted(split) +
      (names.empty() ? std::string("; there are no folders at all") : "; there are " + listed(names)));
}

std::string splits_refusal(const std::string& place, std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string calls;
  for (const std::string& name : names)
    calls += (calls.empty() ? "" : ", ") + ("ps.open(" + double_quoted(place) + ", split=" + double_quoted(name) + ")");
  return "holds the splits of a dataset (" + listed(names) + "), which are not opened together: open one, " + calls +
         " (the command: --split " + one_line(names.front()) +
         "); split_names=False (--split-names false) opens all, as ordinary folders";
}

}  // namespace penstock
