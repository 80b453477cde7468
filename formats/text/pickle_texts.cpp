#include <charconv>
#include <system_error>

#include <base/printable.hpp>
#include <formats/text/pickle_texts.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

[[noreturn]] void refuse_long() {
  throw Error::unsupported("has an integer of more than 64 bits");
}

// Returns the value of the `count` hexadecimal digits at `at`.
std::uint32_t hexadecimal_at(std::string_view text, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  const std::string_view digits = at < text.size() ? text.substr(at, count) : std::string_view();
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != count || failure != std::errc() || stop != end) throw Error::corrupt("has an invalid escape");
  return value;
}

}  // namespace

std::int64_t pickled_long(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const bool negative = !bytes.empty() && at(bytes.size() - 1) >= 0x80;
  const unsigned char fill = negative ? 0xFF : 0;
  std::size_t size = bytes.size();
  while (size > 8 && at(size - 1) == fill) --size;
  if (size > 8 || (size == 8 && (at(7) >= 0x80) != negative)) refuse_long();
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = size; i != 0; --i) value = value << 8 | at(i - 1);
  return static_cast<std::int64_t>(value);
}

std::int64_t pickled_integer(std::string_view digits) {
  if (digits.ends_with('L')) digits.remove_suffix(1);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value);
  if (failure == std::errc::result_out_of_range) refuse_long();
  if (failure != std::errc() || stop != end) throw Error::corrupt("is not an integer: " + double_quoted(digits));
  return value;
}

double pickled_real(std::string_view digits) {
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value);
  if (failure != std::errc() || stop != end) throw Error::corrupt("is not a number: " + double_quoted(digits));
  return value;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char kind = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
    if (kind != 'u' && kind != 'U') {
      append_utf8(text, static_cast<unsigned char>(line[i]));
      continue;
    }
    const std::size_t digits = kind == 'u' ? 4 : 8;
    append_utf8(text, hexadecimal_at(line, i + 2, digits));
    i += 1 + digits;
  }
  return text;
}

std::string unquoted(std::string_view line) {
  const bool quoted = line.size() >= 2 && (line[0] == '\'' || line[0] == '"') && line.back() == line[0];
  if (!quoted) throw Error::corrupt("a text has no quotes");
  line = line.substr(1, line.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    constexpr std::string_view kEscapes = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char letter = ++i < line.size() ? line[i] : '\0';
    const std::size_t escape = kEscapes.find(letter);
    if (letter == 'x') {
      text += static_cast<char>(hexadecimal_at(line, i + 1, 2));
      i += 2;
    } else if (escape != std::string_view::npos) {
      text += kMeanings[escape];
    } else {
      throw Error::corrupt("has an invalid escape");
    }
  }
  return text;
}

std::string latin1_of(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
      continue;
    }
    const bool two = (first == 0xC2 || first == 0xC3) && i + 1 < text.size() &&
                     (static_cast<unsigned char>(text[i + 1]) & 0xC0) == 0x80;
    if (!two) throw Error::corrupt("bytes are not in latin-1");
    ++i;
    bytes += static_cast<char>((first & 3) << 6 | (static_cast<unsigned char>(text[i]) & 0x3F));
  }
  return bytes;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | (code >> 18 & 7));
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

}  // namespace penstock
