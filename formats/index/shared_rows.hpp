// Decides how many samples a file of columns holds where its columns differ in their number of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <penstock/formats/schema.hpp>

namespace penstock {

struct ColumnSize {
  std::string name;
  std::uint64_t rows;
  Shape row;            ///< shape of one row
  std::uint64_t bytes;  ///< of all rows, decompressed
  bool numbers;         ///< false for text and values of variable length
};

/// The number of rows of the samples: that which all columns share, otherwise by these rules, in this order:
///
///   1. A number of rows does not count if each column that has it describes another one, which holds more bytes than
///      all of them (16 times as many if it has fewer rows): the shape of the former occurs in a row of the latter
///      (mean (3,), mean image (8, 8, 3), latitudes (8,) of images (N, 8, 8, 3)) or is square over one of its
///      dimensions (covariances (3, 3)), or the name says that it lists the dimensions (shape (4,)). Columns of one row
///      or none do not count either, if as many columns with more bytes are there.
///   2. The number that most columns have, or the larger one of two, if evidence confirms it against each other number:
///      its columns hold more bytes (16 times as many if the other number has as many columns), or the names
///      say that its columns are the training split and the others another split (x_train, x_test).
///
/// Nothing if the evidence does not confirm it, or if no number counts. `context` are columns that may be described,
/// but whose numbers do not count.
std::optional<std::uint64_t> rows_by_evidence(std::span<const ColumnSize> columns,
                                              std::span<const ColumnSize> context = {});

/// The same. Throws Error: unsupported, with all numbers and the names of their columns, and with `remedy`.
std::uint64_t shared_rows(std::span<const ColumnSize> columns, const std::string& remedy);

/// The rows of the column of that name. Throws Error: invalid_argument, with the names of all columns, without one.
std::uint64_t rows_of_column(std::span<const ColumnSize> columns, std::string_view name);

/// Whether the name contains a word for a part of the samples: train, test, validation and the like.
bool names_split(std::string_view name);

/// "3 rows where the samples are 20"
std::string other_rows(std::uint64_t rows, std::uint64_t samples);

}  // namespace penstock
