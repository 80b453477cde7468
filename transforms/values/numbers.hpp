// Reads numbers that were written as text, as an array of the dtype asked for: JSON, CSV, lines of plain text.
#pragma once

#include <memory>
#include <optional>

#include <penstock/codec.hpp>

namespace penstock {

/// How text becomes an array.
struct NumbersAs {
  std::optional<DType> dtype = std::nullopt;  ///< nothing: int64 where all of a value's numbers are whole, else float64
  bool items = false;                         ///< the first dimension is never left out
  std::optional<Shape> item = std::nullopt;   ///< of an entry of the first dimension; nothing: as the text has it
};

/// Whether values of this codec are text that numbers may stand in: json, txt, and tables (csv), points or not.
bool holds_text_numbers(const FieldSchema& schema);
bool holds_lines_of_numbers(const FieldSchema& schema);  ///< all of these but json

/// A decoder for values of such fields.
///
/// JSON: a number, or numbers in arrays of equal length nested to any depth. Other text: numbers between blanks, tabs,
/// commas or semicolons. A line is a row: lines of one number each are (lines,), others (lines, numbers in a line), and
/// without `items` one line alone is (numbers,), one number alone a scalar. With `item` () all numbers stand in one row
/// of items, whatever the lines. Empty lines and what follows # do not count, and of csv the first line where none of
/// its entries is a number.
///
/// Throws Error: corrupt (what is no number, NaN and infinities, numbers that the dtype does not hold: those with a
/// fraction where it is an integer, and beside one that is written with a fraction or exponent those of 2^53 or more),
/// shape (lines of different lengths), and as json_codec().
std::unique_ptr<Decoder> numbers_decoder(const FieldSchema& schema, NumbersAs as);

}  // namespace penstock
