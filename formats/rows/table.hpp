// A table of one row per sample.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct TableCell {
  enum class Kind : std::uint8_t {
    empty,  ///< An empty CSV cell without quotes, null, None, NaN, or no such member.
    plain,  ///< A word, a number or a list of CSV. Its text decides.
    text,   ///< A string.
    json,   ///< A number, true, false, a list or an object, as JSON.
  };
  Kind kind = Kind::empty;
  std::string text = {};
};

struct TableRow {
  std::string place;  ///< for messages: "line 3" or "row 2", counted from 1
  std::vector<TableCell> cells;
};

struct RowTable {
  std::vector<std::string> columns;
  std::vector<TableRow> rows;  ///< each with a cell per column
};

/// Usual names of columns of paths.
inline constexpr auto kPathColumns =
    std::to_array<std::string_view>({"file", "filename", "image", "path", "file_name", "filepath", "file_path",
                                     "filenames", "image_path", "image_file", "img", "img_path"});
/// Usual names of columns of labels.
inline constexpr auto kLabelColumns = std::to_array<std::string_view>({"label", "class", "cls", "target", "category"});

/// Returns the first column with one of the `known` names, in any case. Earlier names are preferred.
std::optional<std::size_t> column_among(const std::vector<std::string>& columns,
                                        std::span<const std::string_view> known);
/// Throws Error: invalid_argument, with all columns, if there is none of this name.
std::size_t column_named(const std::vector<std::string>& columns, std::string_view name);

std::string_view without_blanks(std::string_view text);  ///< at both ends, and without line endings

}  // namespace penstock
