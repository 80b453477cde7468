// Reads label files as rows of a key and a value, without interpreting the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <formats/rows/table.hpp>

namespace penstock {

/// One word or number of a label.
struct LabelItem {
  std::string text;  ///< as written, without quotes
  bool number;       ///< true for a finite number without leading zeros that was not quoted
};

struct LabelRow {
  std::string key;
  std::vector<LabelItem> items;  ///< one entry for a plain value
  bool list;                     ///< true if written as a list
};

struct LabelTable {
  std::string column;  ///< of the values; empty if the file has no column names
  std::vector<LabelRow> rows;
};

/// Reads a label file of the kinds that labels.hpp describes. `column` may be empty. `is_sample` returns whether a name
/// belongs to a sample; names with blanks in a "NAME LABEL" list need it. Throws Error: io; invalid_argument (no such
/// column, or the column is ambiguous); corrupt (path and line or key).
LabelTable read_label_table(const std::filesystem::path& path, const std::string& column,
                            const std::function<bool(std::string_view name)>& is_sample);

/// Interprets a cell. Throws Error: corrupt, with the key, for an object, or a list in a list.
LabelRow label_row(std::string key, const TableCell& cell);

/// Returns the column of the labels: the one that is not `key` if there are two, else one of kLabelColumns. Returns
/// nothing if there is none.
std::optional<std::size_t> label_column(const std::vector<std::string>& columns, std::size_t key);

/// The value of a whole number, also of "10.0". Nothing for other items.
std::optional<std::int64_t> whole_value(const LabelItem& item);
float float_value(const LabelItem& item);  ///< of a number

/// Returns the lines of `text` without line endings and outer blanks. Omits empty lines.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace penstock
