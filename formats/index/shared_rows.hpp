// Decides how many samples a file of columns holds if its columns differ in their number of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <penstock/schema.hpp>

namespace penstock {

struct ColumnSize {
  std::string name;
  std::uint64_t rows;
  Shape row;            ///< shape of one row
  std::uint64_t bytes;  ///< of all rows, decompressed
  bool numbers;         ///< false for text and values of variable length
};

/// Returns the number of rows of the samples. If columns differ, these rules apply in this order:
///
///  1. Numbers of rows of descriptions do not count. A column describes another one if its shape occurs in a row of it
///     (mean (3,), mean image (8, 8, 3), latitudes (8,) of images (N, 8, 8, 3)), if it is square over a dimension
///     (covariances (3, 3)), or if its name says that it lists the dimensions (shape (4,)). All columns with that
///     number must be descriptions. The described column must hold more bytes than all of them, and 16 times as many
///     if it has fewer rows.
///  2. Columns of at most one row do not count if as many columns hold more bytes.
///  3. The number that most columns have is a candidate; of two, the larger one. It is returned if evidence confirms
///     it against each other number. Evidence is more bytes in its columns, 16 times as many if the other number has
///     as many columns. Names are also evidence: its columns are the training split, the others another split.
///
/// Returns nothing if the evidence does not confirm it, or if no number counts. `context` are columns that may be
/// described, but whose numbers do not count.
std::optional<std::uint64_t> rows_by_evidence(std::span<const ColumnSize> columns,
                                              std::span<const ColumnSize> context = {});

/// Like rows_by_evidence(), but throws Error: unsupported instead of returning nothing. The message has all numbers,
/// the names of their columns, and `remedy`.
std::uint64_t shared_rows(std::span<const ColumnSize> columns, const std::string& remedy);

/// Returns the rows of the column with that name. Throws Error: invalid_argument, with the names of all columns, if
/// there is no such column.
std::uint64_t rows_of_column(std::span<const ColumnSize> columns, std::string_view name);

/// Returns whether the name contains a word for a part of the samples: train, test, validation and similar words.
bool names_split(std::string_view name);

/// Returns a text such as "3 rows where the samples are 20".
std::string other_rows(std::uint64_t rows, std::uint64_t samples);

}  // namespace penstock
