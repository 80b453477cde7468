#include <algorithm>
#include <cstddef>
#include <optional>

#include <formats/io/path_pattern.hpp>
#include <formats/views/key_pattern.hpp>

namespace penstock {
namespace {

// Returns the bytes of the first character of the text. Invalid UTF-8 counts byte by byte.
std::size_t length_of_character(std::string_view text) {
  std::size_t length = 1;
  if (static_cast<unsigned char>(text[0]) < 0xC0) return length;
  while (length < std::min<std::size_t>(4, text.size()) && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    ++length;
  return length;
}

struct CharacterClass {
  std::size_t length;  // in the pattern
  bool has;
};

// Matches the character with "[a-z]...". Returns nothing if the bracket is not closed, so that it is a literal
// character.
std::optional<CharacterClass> in_class(std::string_view pattern, char character) {
  std::size_t at = 1;
  const bool none_of = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (none_of) ++at;
  bool has = false;
  for (const std::size_t first = at; at < pattern.size(); ++at) {
    if (pattern[at] == ']' && at != first) return CharacterClass{at + 1, has != none_of};
    const bool range = at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    const auto low = static_cast<unsigned char>(pattern[at]);
    if (range) at += 2;
    const auto high = static_cast<unsigned char>(pattern[at]), own = static_cast<unsigned char>(character);
    has = has || (low <= own && own <= high);
  }
  return std::nullopt;
}

// Backtracks only to the last `*`, so the time is at most the product of the lengths.
bool match(std::string_view pattern, std::string_view key) {
  std::size_t p = 0, k = 0;
  std::optional<std::size_t> star;
  std::size_t star_key = 0;
  while (k < key.size()) {
    std::size_t taken = 0, used = 0;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        star_key = k;
        continue;
      }
      const auto set = pattern[p] == '[' ? in_class(pattern.substr(p), key[k]) : std::nullopt;
      if (pattern[p] == '?' || (set && set->has)) {
        taken = length_of_character(key.substr(k));
        used = set ? set->length : 1;
      } else if (!set && pattern[p] == key[k]) {
        taken = used = 1;
      }
    }
    if (taken != 0) {
      p += used;
      k += taken;
    } else if (star) {
      p = *star + 1;
      k = ++star_key;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

KeyPattern::KeyPattern(std::string_view pattern) : alternatives_(expand_braces(pattern)) {}

bool KeyPattern::matches(std::string_view key) const {
  return std::ranges::any_of(alternatives_, [key](const std::string& pattern) { return match(pattern, key); });
}

}  // namespace penstock
