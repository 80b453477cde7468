#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>

#include <glob.h>

#include <formats/io/path_pattern.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostWords = 100'000;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of all words, because a long pattern may expand to many
constexpr std::size_t kLongestRange = 64;
constexpr std::string_view kWildcards = "*?[";

struct Range {
  std::uint64_t first, last;
  std::size_t digits;  // minimum number of digits
  std::uint64_t count() const { return std::max(first, last) - std::min(first, last) + 1; }
};

struct Braces {
  std::size_t begin, end;      ///< position of "{", and one past "}"
  std::optional<Range> range;  ///< empty: alternatives
};

struct Open {
  std::size_t begin;
  bool comma = false;  ///< has a comma outside of inner braces
};

std::optional<std::uint64_t> whole(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

Error too_many(std::string_view text) {
  return Error::invalid_argument(std::string(text) + " expands to more than " + std::to_string(kMostWords) +
                                 " files, or to names of more than 32 MiB");
}

// Parses "000..146". Empty if the text is not a range.
std::optional<Range> range_in(std::string_view inside) {
  const std::size_t dots = inside.find("..");
  if (inside.size() > kLongestRange || dots == std::string_view::npos) return std::nullopt;
  const std::string_view from = inside.substr(0, dots), to = inside.substr(dots + 2);
  const auto first = whole(from), last = whole(to);
  if (!first || !last) return std::nullopt;
  const bool padded = (from.size() > 1 && from[0] == '0') || (to.size() > 1 && to[0] == '0');
  return Range{*first, *last, padded ? std::max(from.size(), to.size()) : 1};
}

std::vector<std::string> words_of(const Range& range) {
  std::vector<std::string> words;
  for (std::uint64_t i = 0; i < range.count(); ++i) {
    std::string word = std::to_string(range.first < range.last ? range.first + i : range.first - i);
    if (word.size() < range.digits) word.insert(0, range.digits - word.size(), '0');
    words.push_back(std::move(word));
  }
  return words;
}

// Splits "a,b,{c,d}" at its outermost commas.
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
  return words;
}

// Returns the first pair of braces that expands to something. Scans the text once, however deep the nesting.
std::optional<Braces> find_braces(std::string_view text) {
  std::optional<Braces> first;
  std::vector<Open> open;
  for (std::size_t at = 0; at < text.size() && (!first || !open.empty()); ++at) {
    if (text[at] == '{') open.push_back({at});
    if (text[at] == ',' && !open.empty()) open.back().comma = true;
    if (text[at] != '}' || open.empty()) continue;
    const auto [begin, comma] = open.back();
    open.pop_back();
    if (first && first->begin < begin) continue;
    const std::optional<Range> range = range_in(text.substr(begin + 1, at - begin - 1));
    if (comma || range) first = Braces{begin, at + 1, range};
  }
  return first;
}

// Expands the braces of a word. Throws too_many() before it allocates memory for the result.
std::vector<std::string> inside_of(const Braces& braces, std::string_view word, std::string_view text) {
  if (!braces.range) return alternatives(word.substr(braces.begin + 1, braces.end - braces.begin - 2));
  // A range of all 64-bit numbers overflows to a count of 0.
  const std::uint64_t count = braces.range->count();
  if (count == 0 || count > kMostWords || count * word.size() > kMostBytes) throw too_many(text);
  return words_of(*braces.range);
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
    std::size_t bytes = 0;
    const auto add = [&](std::string word) {
      bytes += word.size();
      next.push_back(std::move(word));
      if (next.size() > kMostWords || bytes > kMostBytes) throw too_many(text);
    };
    for (const std::string& word : words) {
      const auto braces = find_braces(word);
      expanded = expanded || braces.has_value();
      if (!braces) add(word);
      if (braces)
        for (const std::string& inside : inside_of(*braces, word, text))
          add(word.substr(0, braces->begin) + inside + word.substr(braces->end));
    }
    words = std::move(next);
  }
  return words;
}

std::vector<std::filesystem::path> expand_pattern(std::string_view pattern) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& word : expand_braces(pattern)) {
    std::error_code ignored;
    if (word.find_first_of(kWildcards) == std::string::npos || std::filesystem::exists(word, ignored)) {
      paths.emplace_back(word);
      continue;
    }
    for (std::filesystem::path& path : matches(word)) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace penstock
