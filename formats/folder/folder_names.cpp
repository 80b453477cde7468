#include <algorithm>
#include <cctype>
#include <string>

#include <formats/encodings.hpp>
#include <formats/folder/folder_names.hpp>

namespace penstock {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(std::string_view part) {
  const auto letters = std::find_if_not(part.begin(), part.end(), is_letter);
  return letters != part.begin() && part.end() - letters <= 2 && std::all_of(letters, part.end(), is_digit);
}

}  // namespace

FileName split_file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot <= base || dot + 1 == path.size()) return {path, {}};
  while (true) {
    const std::size_t previous = path.rfind('.', dot - 1);
    if (previous == std::string_view::npos || previous <= base) break;
    if (!is_word(path.substr(previous + 1, dot - previous - 1))) break;
    dot = previous;
  }
  return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_media(std::string_view extension) {
  std::string last(extension.substr(extension.rfind('.') + 1));
  std::transform(last.begin(), last.end(), last.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const Encoding* encoding = encoding_with_extension(last);
  return encoding != nullptr && encoding->media;
}

}  // namespace penstock
