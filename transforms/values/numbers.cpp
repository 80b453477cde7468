#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <formats/text/point_table.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/values/numbers.hpp>
#include <transforms/values/text.hpp>

namespace penstock {
namespace {

constexpr double kExactIntegers = 0x1p53;  // below it, a double equals the written integer

std::string_view text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_separator(char c) {
  return c == ',' || c == ';';
}

/// A number in a text, also as an integer if int64 holds it.
struct Number {
  double real = 0;
  std::int64_t integer = 0;
  bool whole = false;
};

// Returns nothing if the word is not a finite number.
std::optional<Number> number_of(std::string_view word) {
  if (word.starts_with('+') && word.size() > 1 && word[1] != '-') word.remove_prefix(1);
  const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
  if (digits.empty() || !(digits[0] == '.' || (digits[0] >= '0' && digits[0] <= '9'))) return std::nullopt;
  Number number;
  const char* const end = word.data() + word.size();
  const auto whole = std::from_chars(word.data(), end, number.integer);
  number.whole = whole.ec == std::errc() && whole.ptr == end;
  if (number.whole) {
    number.real = static_cast<double>(number.integer);
    return number;
  }
  const auto real = std::from_chars(word.data(), end, number.real);
  if (real.ec != std::errc() || real.ptr != end) return std::nullopt;
  return number;
}

/// The numbers of a value, in their order.
struct NumberList {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  bool whole = true;  ///< all numbers are integers, held by `integers`

  void clear() {
    integers.clear();
    reals.clear();
    whole = true;
  }
  void add(const Number& number) {
    whole = whole && number.whole;
    if (whole) integers.push_back(number.integer);
    reals.push_back(number.real);
  }
};

/// Reads lines of numbers.
class NumberLines {
 public:
  NumberLines(std::string_view text, bool header) : text_(text), header_(header) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // a byte order mark
  }

  /// `even` requires lines with equally many numbers.
  void read(NumberList& numbers, bool even) {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      line = line.substr(0, line.find('#'));
      ++number_;
      while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
      while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
      if (line.empty()) continue;
      if (std::exchange(header_, false) && is_header(line)) continue;
      read_line(line, numbers, even);
    }
  }

  std::int64_t lines() const { return lines_; }
  std::int64_t columns() const { return columns_; }

 private:
  // Removes the next entry and its separator from a line, and returns the entry. After a separator at the end, there is
  // an empty entry.
  static std::string_view take_entry(std::string_view& line, bool& more) {
    std::size_t end = 0;
    while (end < line.size() && !is_blank(line[end]) && !is_separator(line[end])) ++end;
    const std::string_view entry = line.substr(0, end);
    while (end < line.size() && is_blank(line[end])) ++end;
    const bool separated = end < line.size() && is_separator(line[end]);
    if (separated) ++end;
    while (end < line.size() && is_blank(line[end])) ++end;
    more = separated || end < line.size();
    line.remove_prefix(end);
    return entry;
  }

  static bool is_header(std::string_view line) {
    for (bool more = true; more;) {
      if (number_of(take_entry(line, more))) return false;
    }
    return true;
  }

  void read_line(std::string_view line, NumberList& numbers, bool even) {
    std::int64_t columns = 0;
    for (bool more = true; more; ++columns) {
      const std::string_view entry = take_entry(line, more);
      const std::optional<Number> number = number_of(entry);
      if (!number) throw no_number(entry, columns);
      numbers.add(*number);
    }
    if (even && lines_ != 0 && columns != columns_) {
      throw Error::shape("line " + std::to_string(number_) + " has " + std::to_string(columns) +
                         " numbers, but the lines before it have " + std::to_string(columns_));
    }
    columns_ = columns;
    ++lines_;
  }

  Error no_number(std::string_view entry, std::int64_t column) const {
    const std::string where = "line " + std::to_string(number_) + ", column " + std::to_string(column + 1);
    if (entry.empty()) return Error::corrupt(where + " is empty");
    return Error::corrupt(where + ": \"" + std::string(entry.substr(0, 40)) + "\" is not a finite number");
  }

  std::string_view text_;
  bool header_;
  std::int64_t number_ = 0;  ///< number of the line in the text
  std::int64_t lines_ = 0, columns_ = 0;
};

class NumbersDecoder final : public Decoder {
 public:
  NumbersDecoder(const FieldSchema& schema, NumbersAs as) : as_(std::move(as)), schema_(schema) {
    if (schema.codec == "json") json_ = json_codec().decoder(schema);
  }

  Layout peek(const FieldBytes& field) override {
    numbers_.clear();
    Shape shape = json_ != nullptr ? read_json(field) : read_lines(text_in(field.bytes));
    layout_ = {.dtype = as_.dtype.value_or(numbers_.whole ? DType::i64 : DType::f64), .shape = std::move(shape)};
    return layout_;
  }

  void decode(const FieldBytes&, const Region* region, TensorView out) override {
    const std::size_t count = numbers_.reals.size();
    if (region != nullptr || out.dtype != layout_.dtype || out.bytes() != count * size_of(layout_.dtype))
      throw Error::invalid_argument("the output does not hold the value");
    if (count == 0) return;
    const auto* from = numbers_.whole ? reinterpret_cast<const std::byte*>(numbers_.integers.data())
                                      : reinterpret_cast<const std::byte*>(numbers_.reals.data());
    const DType held = numbers_.whole ? DType::i64 : DType::f64;
    convert_elements(from, held, out.data, layout_.dtype, count);
    if (layout_.dtype != held) check(held, out.data, count);
  }

 private:
  Shape read_json(const FieldBytes& field) {
    const Layout layout = json_->peek(field);
    const std::uint64_t count = element_count(layout.shape);
    numbers_.whole = layout.dtype == DType::i64 || count == 0;
    numbers_.integers.resize(numbers_.whole ? count : 0);
    numbers_.reals.resize(count);
    auto* to = numbers_.whole ? reinterpret_cast<std::byte*>(numbers_.integers.data())
                              : reinterpret_cast<std::byte*>(numbers_.reals.data());
    json_->decode(field, nullptr, {to, layout.dtype, layout.shape});
    if (count == 0 && as_.items) return empty();
    return layout.shape;
  }

  Shape read_lines(std::string_view text) {
    const bool flat = as_.item && as_.item->empty();
    NumberLines lines(text, schema_.name.ends_with("csv"));
    lines.read(numbers_, !flat);
    const auto count = static_cast<std::int64_t>(numbers_.reals.size());
    if (count == 0) return empty();
    if (flat) return {count};
    if (as_.item) return rows_of(lines);
    if (lines.columns() == 1) return lines.lines() == 1 && !as_.items ? Shape{} : Shape{lines.lines()};
    if (lines.lines() == 1 && !as_.items) return {lines.columns()};
    return {lines.lines(), lines.columns()};
  }

  Shape rows_of(const NumberLines& lines) const {
    if (static_cast<std::uint64_t>(lines.columns()) != element_count(*as_.item)) {
      throw Error::shape("has lines of " + std::to_string(lines.columns()) + " numbers, but an item is " +
                         to_string(*as_.item));
    }
    Shape shape = *as_.item;
    shape.insert(shape.begin(), lines.lines());
    return shape;
  }

  Shape empty() const {
    Shape shape = as_.item.value_or(Shape{});
    shape.insert(shape.begin(), 0);
    return shape;
  }

  // Checks that the conversion lost nothing except digits of floating point.
  void check(DType held, const std::byte* made, std::size_t count) {
    const bool integers = is_integer(layout_.dtype);
    if (!integers && layout_.dtype == DType::f64) return;
    std::byte* again = scratch_.get(count * sizeof(double));
    convert_elements(made, layout_.dtype, again, integers ? held : DType::f64, count);
    for (std::size_t i = 0; i < count; ++i) {
      double back = 0;
      std::memcpy(&back, again + i * sizeof(back), sizeof(back));
      const bool equal = numbers_.whole
                             ? std::memcmp(&numbers_.integers[i], again + i * sizeof(back), sizeof(back)) == 0
                             : back == numbers_.reals[i] && std::abs(back) < kExactIntegers;
      if (integers ? equal : std::isfinite(back)) continue;
      std::string digits = numbers_.whole ? std::to_string(numbers_.integers[i]) : shortest(numbers_.reals[i]);
      throw Error::corrupt("number " + std::to_string(i + 1) + ", " + digits + ", does not fit " +
                           std::string(name(layout_.dtype)));
    }
  }

  static std::string shortest(double value) {
    char digits[32];
    const auto [end, fault] = std::to_chars(digits, digits + sizeof(digits), value);
    return {digits, end};
  }

  const NumbersAs as_;
  const FieldSchema schema_;
  std::unique_ptr<Decoder> json_;  ///< null if lines are read
  NumberList numbers_;
  Layout layout_;
  ScratchMemory scratch_;
};

}  // namespace

bool holds_text_numbers(const FieldSchema& schema) {
  return schema.codec == "json" || holds_lines_of_numbers(schema);
}

bool holds_lines_of_numbers(const FieldSchema& schema) {
  return schema.codec == "txt" || is_table(schema);
}

std::unique_ptr<Decoder> numbers_decoder(const FieldSchema& schema, NumbersAs as) {
  return std::make_unique<NumbersDecoder>(schema, std::move(as));
}

}  // namespace penstock
