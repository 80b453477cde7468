#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>

#include <glob.h>

#include <penstock/formats/error.hpp>
#include <penstock/formats/path_pattern.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostWords = 1'000'000;
constexpr std::string_view kWildcards = "*?[";

struct Braces {
  std::size_t begin, end;  ///< of "{" and behind "}"
  std::vector<std::string> words;
};

std::optional<std::uint64_t> whole(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

Error too_many(std::string_view text) {
  return Error::invalid_argument(std::string(text) + " stands for more than " + std::to_string(kMostWords) + " files");
}

// "000..146"; nothing when it is no range.
std::vector<std::string> range_words(std::string_view inside, std::string_view text) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view from = inside.substr(0, dots), to = inside.substr(dots + 2);
  const auto first = whole(from), last = whole(to);
  if (!first || !last) return {};
  const bool padded = (from.size() > 1 && from[0] == '0') || (to.size() > 1 && to[0] == '0');
  const std::size_t digits = padded ? std::max(from.size(), to.size()) : 1;
  const std::uint64_t count = std::max(*first, *last) - std::min(*first, *last);
  if (count >= kMostWords) throw too_many(text);
  std::vector<std::string> words;
  for (std::uint64_t i = 0; i <= count; ++i) {
    std::string word = std::to_string(*first < *last ? *first + i : *first - i);
    if (word.size() < digits) word.insert(0, digits - word.size(), '0');
    words.push_back(std::move(word));
  }
  return words;
}

// "a,b,{c,d}" at its outermost commas; nothing when there is none.
std::vector<std::string> alternatives(std::string_view inside) {
  std::vector<std::string> words{""};
  int depth = 0;
  for (const char c : inside) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == ',' && depth == 0) {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  if (words.size() == 1) words.clear();
  return words;
}

// The first pair of braces that stands for something.
std::optional<Braces> find_braces(std::string_view text) {
  for (std::size_t begin = text.find('{'); begin != std::string_view::npos; begin = text.find('{', begin + 1)) {
    int depth = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      if (text[at] == '{') ++depth;
      if (text[at] != '}' || --depth != 0) continue;
      const std::string_view inside = text.substr(begin + 1, at - begin - 1);
      std::vector<std::string> words = range_words(inside, text);
      if (words.empty()) words = alternatives(inside);
      if (!words.empty()) return Braces{begin, at + 1, std::move(words)};
      break;
    }
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> matches(const std::string& word) {
  ::glob_t found{};
  const std::unique_ptr<::glob_t, void (*)(::glob_t*)> owner(&found, ::globfree);
  const int code = ::glob(word.c_str(), GLOB_ERR, nullptr, &found);
  if (code == GLOB_NOMATCH) return {};
  if (code == GLOB_NOSPACE) throw Error::resource("no memory for the files that match " + word);
  if (code != 0) throw Error::io(errno, "cannot list the files that match " + word);
  std::vector<std::filesystem::path> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  std::ranges::sort(paths, {}, [](const std::filesystem::path& path) { return path.native(); });
  return paths;
}

}  // namespace

bool is_pattern(std::string_view text) {
  return text.find_first_of(kWildcards) != std::string_view::npos || find_braces(text).has_value();
}

std::vector<std::string> expand_braces(std::string_view text) {
  std::vector<std::string> words{std::string(text)};
  for (bool expanded = true; expanded;) {
    expanded = false;
    std::vector<std::string> next;
    for (const std::string& word : words) {
      const auto braces = find_braces(word);
      expanded = expanded || braces.has_value();
      if (!braces) next.push_back(word);
      if (braces)
        for (const std::string& inside : braces->words)
          next.push_back(word.substr(0, braces->begin) + inside + word.substr(braces->end));
      if (next.size() > kMostWords) throw too_many(text);
    }
    words = std::move(next);
  }
  return words;
}

std::vector<std::filesystem::path> expand_pattern(std::string_view pattern) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& word : expand_braces(pattern)) {
    if (word.find_first_of(kWildcards) == std::string::npos) {
      paths.emplace_back(word);
      continue;
    }
    for (std::filesystem::path& path : matches(word)) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace penstock
