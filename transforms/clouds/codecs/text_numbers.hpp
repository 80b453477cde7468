// Reads numbers from text, one after the other; an error names the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <penstock/schema.hpp>

namespace penstock {

/// Walks through words and lines of a value. Lines end with "\n", "\r\n" or "\r".
class TextReader {
 public:
  /// `separators` part words within a line; `codec` begins the messages of errors.
  /// `line` is the number of the first one.
  TextReader(std::string_view codec, std::span<const std::byte> bytes, std::string_view separators = " \t",
             std::uint64_t line = 1);

  bool at_end() const { return at_ == text_.size(); }
  std::size_t position() const { return at_; }  ///< bytes from the start
  std::uint64_t line() const { return line_; }  ///< number of the line that comes next or is being read, from 1
  std::size_t left() const { return text_.size() - at_; }

  /// The rest of this line without its end; goes to the next one.
  std::string_view next_line();
  /// The next word of this line; empty where there is none.
  std::string_view word_of_line();
  /// The next cell of this line, up to a separator or the line's end, without blanks and double quotes around it; false
  /// where there is none. A separator may stand in quotes. What stands behind the last separator is a cell only where
  /// it is not empty: see cell_may_follow().
  bool cell_of_line(std::string_view& cell);
  /// Whether a separator ended the cell before, so that another cell without a value may follow.
  bool cell_may_follow() const { return separated_; }
  /// The next word, on this line or a later one. Throws Error: corrupt at the end, "ends before WHAT".
  std::string_view word(const char* what);

  /// "CODEC: line N: CAUSE".
  [[noreturn]] void fail(const std::string& cause) const;

 private:
  bool part(char letter) const;
  bool line_end(char letter) const { return letter == '\n' || letter == '\r'; }
  void skip_line_end();

  std::string_view codec_, text_, separators_;
  std::size_t at_ = 0;
  std::uint64_t line_;
  bool separated_ = false;
};

/// The number a word stands for; "nan" and "inf" in any case are numbers. A sign may stand before it. What is too small
/// for double is 0. Throws by `reader.fail`: not a number, or beyond double.
double number_of(const TextReader& reader, std::string_view word);
/// A count: digits alone.
std::uint64_t count_of(const TextReader& reader, std::string_view word);
/// Whether it is written as a number.
bool is_number(std::string_view word);
/// Writes it in `dtype`. A whole number may be written with a point ("3.0"). Throws by `reader.fail`, also where it is
/// beyond the type.
void store_number(const TextReader& reader, std::string_view word, DType dtype, std::byte* to);

}  // namespace penstock
