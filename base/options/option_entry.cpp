#include <base/options/option_entry.hpp>
#include <base/printable.hpp>

namespace penstock {

std::string words_text(std::vector<std::string_view> known) {
  std::erase(known, "none");
  std::string text;
  for (std::size_t i = 0; i < known.size(); ++i)
    text += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + double_quoted(known[i]);
  return text;
}

std::string_view first_sentence(std::string_view text) {
  const std::size_t end = text.find(". ");
  return text.substr(0, end == std::string_view::npos ? end : end + 1);
}

std::string flag_of_keyword(std::string_view keyword) {
  std::string flag(keyword);
  std::ranges::replace(flag, '_', '-');
  return "--" + flag;
}

std::string lines_of(std::string_view text, std::size_t width, std::string_view indent) {
  std::string lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t room = width - (begin == 0 ? 0 : indent.size());
    std::size_t end = text.size();
    if (end - begin > room) {
      const std::size_t blank = text.rfind(' ', begin + room);
      if (blank != std::string_view::npos && blank > begin) end = blank;
    }
    lines += begin == 0 ? "" : "\n" + std::string(indent);
    lines += text.substr(begin, end - begin);
    begin = end + 1;
  }
  return lines;
}

std::string help_entry(std::string_view keyword, std::string_view meaning) {
  constexpr std::size_t kWidth = 92;  // help() indents them by 8 columns
  return lines_of(std::string(keyword) + ": " + std::string(meaning), kWidth, "  ") + "\n";
}

}  // namespace penstock
