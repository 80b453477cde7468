// Reads numbers written as text into an array of the requested dtype: JSON, CSV, lines of plain text.
#pragma once

#include <memory>
#include <optional>

#include <penstock/codec.hpp>

namespace penstock {

/// Options to read text as an array.
struct NumbersAs {
  std::optional<DType> dtype = std::nullopt;  ///< nothing: int64 if all numbers of a value are integers, else float64
  bool items = false;                         ///< always keep the first dimension
  std::optional<Shape> item = std::nullopt;   ///< shape of an entry of the first dimension; nothing: as in the text
};

/// Returns whether values of this codec are text that may contain numbers: json, txt, and tables (csv), points or not.
bool holds_text_numbers(const FieldSchema& schema);
bool holds_lines_of_numbers(const FieldSchema& schema);  ///< all of these except json

/// Creates a decoder for values of such fields.
///
/// JSON is a number, or numbers in arrays of equal length nested to any depth. Other text consists of numbers separated
/// by blanks, tabs, commas or semicolons. A line is a row. Lines of one number give (lines,), other lines (lines,
/// numbers per line). Without `items`, a single line gives (numbers,), and a single number a scalar. With `item` (),
/// all numbers form one row of items, on any lines. Empty lines and text after # are ignored, and so is the first line
/// of a csv if none of its entries is a number.
///
/// Throws the errors of json_codec(), and Error: shape, if lines have different lengths. Throws Error: corrupt, for
/// words that are not numbers, NaN and infinities, and for numbers that the dtype cannot hold. An integer dtype holds
/// no fractions. If any number is written with a fraction or exponent, it holds only numbers below 2^53.
std::unique_ptr<Decoder> numbers_decoder(const FieldSchema& schema, NumbersAs as);

}  // namespace penstock
