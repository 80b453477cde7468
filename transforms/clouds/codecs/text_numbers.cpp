#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <formats/element_types.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/text_numbers.hpp>

namespace penstock {
namespace {

std::string_view unsigned_part(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  return word;
}

// Returns whether a number that does not fit is too small rather than too large. std::from_chars() reports both cases
// with the same error.
bool too_small(std::string_view word) {
  const std::size_t exponent = word.find_first_of("eE");
  if (exponent != std::string_view::npos) return exponent + 1 < word.size() && word[exponent + 1] == '-';
  return word.find_first_not_of("+-0.") > word.find('.');
}

template <typename T>
std::errc parse(std::string_view word, T& value) {
  const std::string_view digits = unsigned_part(word);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size()) return std::errc::invalid_argument;
  if constexpr (std::is_floating_point_v<T>) {
    if (failure == std::errc::result_out_of_range && too_small(digits)) {
      value = 0;
      return {};
    }
  }
  return failure;
}

std::string quoted(std::string_view word) {
  return "'" + std::string(word.substr(0, 40)) + "'";
}

template <typename T>
T real_of(const TextReader& reader, std::string_view word) {
  T value = 0;
  const std::errc failure = parse(word, value);
  if (failure == std::errc::result_out_of_range) reader.fail(quoted(word) + " is beyond the range of its type");
  if (failure != std::errc{}) reader.fail(quoted(word) + " is not a number");
  return value;
}

template <typename T>
void store(const TextReader& reader, std::string_view word, std::byte* to) {
  T value = 0;
  if constexpr (std::is_floating_point_v<T>) {
    value = real_of<T>(reader, word);
  } else if (parse(word, value) != std::errc{}) {
    const auto real = real_of<double>(reader, word);
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (real != std::floor(real)) reader.fail(quoted(word) + " is not a whole number");
    if (!(real >= low && real < beyond)) reader.fail(quoted(word) + " is beyond the range of its type");
    value = static_cast<T>(real);
  }
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace

TextReader::TextReader(std::string_view codec, std::span<const std::byte> bytes, std::string_view separators,
                       std::uint64_t line)
    : codec_(codec),
      text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
      separators_(separators),
      line_(line) {}

bool TextReader::part(char letter) const {
  return separators_.find(letter) != std::string_view::npos;
}

void TextReader::skip_line_end() {
  if (at_ == text_.size()) return;
  const bool both = text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
  at_ += both ? 2 : 1;
  ++line_;
}

std::string_view TextReader::next_line() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && !line_end(text_[at_])) ++at_;
  const std::string_view line = text_.substr(begin, at_ - begin);
  separated_ = false;
  skip_line_end();
  return line;
}

std::string_view TextReader::word_of_line() {
  while (at_ < text_.size() && part(text_[at_])) ++at_;
  const std::size_t begin = at_;
  while (at_ < text_.size() && !line_end(text_[at_]) && !part(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

bool TextReader::cell_of_line(std::string_view& cell) {
  constexpr std::string_view kBlanks = " \t";
  const auto ends = [&] { return at_ == text_.size() || line_end(text_[at_]); };
  while (!ends() && kBlanks.find(text_[at_]) != std::string_view::npos) ++at_;
  if (ends()) return false;
  const bool in_quotes = text_[at_] == '"';
  const std::size_t begin = at_ += in_quotes ? 1 : 0;
  while (!ends() && (in_quotes ? text_[at_] != '"' : !part(text_[at_]))) ++at_;
  cell = text_.substr(begin, at_ - begin);
  if (!in_quotes) cell = cell.substr(0, cell.find_last_not_of(kBlanks) + 1);
  while (!ends() && !part(text_[at_])) ++at_;
  separated_ = !ends();
  if (separated_) ++at_;
  return true;
}

std::string_view TextReader::word(const char* what) {
  for (;;) {
    const std::string_view found = word_of_line();
    if (!found.empty()) return found;
    if (at_end()) throw Error::corrupt(std::string(codec_) + ": ends before " + what);
    skip_line_end();
  }
}

void TextReader::fail(const std::string& cause) const {
  throw Error::corrupt(std::string(codec_) + ": line " + std::to_string(line_) + ": " + cause);
}

double number_of(const TextReader& reader, std::string_view word) {
  return real_of<double>(reader, word);
}

std::uint64_t count_of(const TextReader& reader, std::string_view word) {
  std::uint64_t value = 0;
  if (parse(word, value) != std::errc{}) reader.fail(quoted(word) + " is not a count");
  return value;
}

bool is_number(std::string_view word) {
  double value = 0;
  return parse(word, value) != std::errc::invalid_argument;
}

void store_number(const TextReader& reader, std::string_view word, DType dtype, std::byte* to) {
  with_element(dtype, [&](auto element) {
    using Number = std::conditional_t<std::is_arithmetic_v<decltype(element)>, decltype(element), double>;
    store<Number>(reader, word, to);
  });
}

}  // namespace penstock
