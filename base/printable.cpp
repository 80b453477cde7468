#include <array>
#include <cstddef>

#include <base/printable.hpp>

namespace penstock {
namespace {

struct Form {
  unsigned mask, lead;       // of the first byte
  std::size_t continuation;  // number of further bytes
  std::uint32_t least;       // smallest code point that needs this many
};

constexpr std::array<Form, 4> kForms{
    {{0x80, 0x00, 0, 0x20}, {0xE0, 0xC0, 1, 0x80}, {0xF0, 0xE0, 2, 0x800}, {0xF8, 0xF0, 3, 0x10000}}};

// Returns the length of the first character of `text`; 0 if it is not printable.
std::size_t character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  for (const Form& form : kForms) {
    if ((lead & form.mask) != form.lead) continue;
    if (text.size() <= form.continuation) return 0;
    std::uint32_t point = lead & ~form.mask;
    for (std::size_t i = 1; i <= form.continuation; ++i) {
      const auto next = static_cast<unsigned char>(text[i]);
      if ((next & 0xC0U) != 0x80U) return 0;
      point = point << 6 | (next & 0x3FU);
    }
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    const bool control = point >= 0x7F && point < 0xA0;
    return point < form.least || point > 0x10FFFF || surrogate || control ? 0 : form.continuation + 1;
  }
  return 0;
}

}  // namespace

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text) {
  if (is_printable(text)) return std::string(text);
  std::string line;
  while (!text.empty()) {
    const std::size_t length = character(text);
    line += length == 0 ? "\\x" + hexadecimal(text.substr(0, 1)) : std::string(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

std::string double_quoted(std::string_view text) {
  return '"' + one_line(text) + '"';
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 0xF];
  }
  return text;
}

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

}  // namespace penstock
