// Reads numbers from text one by one. Errors name the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <penstock/schema.hpp>

namespace penstock {

/// Iterates over the words and lines of a value. Lines end with "\n", "\r\n" or "\r".
class TextReader {
 public:
  /// `separators` separate words within a line. `codec` is the prefix of error messages. `line` is the number of the
  /// first line.
  TextReader(std::string_view codec, std::span<const std::byte> bytes, std::string_view separators = " \t",
             std::uint64_t line = 1);

  bool at_end() const { return at_ == text_.size(); }
  std::size_t position() const { return at_; }  ///< bytes from the start
  std::uint64_t line() const { return line_; }  ///< number of the current or next line, from 1
  std::size_t left() const { return text_.size() - at_; }

  /// Returns the rest of this line without its end, and advances to the next line.
  std::string_view next_line();
  /// Returns the next word of this line, or an empty string at its end.
  std::string_view word_of_line();
  /// Reads the next cell of this line, up to a separator or the line's end. Strips blanks and double quotes around it.
  /// A quoted cell may contain separators. Returns false at the end of the line. An empty last cell is not returned;
  /// see cell_may_follow().
  bool cell_of_line(std::string_view& cell);
  /// Returns whether a separator ended the last cell, so that an empty cell may follow.
  bool cell_may_follow() const { return separated_; }
  /// Returns the next word, on this line or a later one. Throws Error: corrupt, "ends before WHAT", at the end.
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

/// Returns the number in `word`. A sign is allowed, and so are "nan" and "inf" in any case. Numbers too small for
/// double become 0. Throws by `reader.fail`, if the word is not a number or is too large for double.
double number_of(const TextReader& reader, std::string_view word);
/// Parses a count, which consists of digits only.
std::uint64_t count_of(const TextReader& reader, std::string_view word);
/// Returns whether the word has the form of a number.
bool is_number(std::string_view word);
/// Writes the number in `word` as `dtype`. An integer may have a decimal point ("3.0"). Throws by `reader.fail`, also
/// if the number is beyond the type.
void store_number(const TextReader& reader, std::string_view word, DType dtype, std::byte* to);

}  // namespace penstock
