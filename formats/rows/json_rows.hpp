// Finds the rows of a table in JSON values. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/rows/table.hpp>
#include <penstock/error.hpp>

namespace penstock {

// The columns of tables that do not name them.
inline constexpr const char* kKeyColumn = "key";
inline constexpr const char* kLabelColumn = "label";

template <typename Json>
TableCell cell_of(const Json& value) {
  using Kind = TableCell::Kind;
  if (value.is_null() || value.is_discarded()) return {};
  if (value.is_string()) return {.kind = Kind::text, .text = value.template get<std::string>()};
  return {.kind = Kind::json, .text = value.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

/// Collects objects as rows. The columns are the members of all objects, in the order in which they appear.
class RowsOfObjects {
 public:
  /// `unit` is "line " or "row ", for TableRow::place.
  explicit RowsOfObjects(std::string unit) : unit_(std::move(unit)) {}

  void add_cell(TableRow& row, const std::string& column, TableCell cell) {
    const auto [known, added] = numbers_.try_emplace(column, table_.columns.size());
    if (added) table_.columns.push_back(column);
    if (row.cells.size() <= known->second) row.cells.resize(known->second + 1);
    row.cells[known->second] = std::move(cell);
  }

  TableRow row(std::uint64_t number) const { return {.place = unit_ + std::to_string(number), .cells = {}}; }
  void add(TableRow row) { table_.rows.push_back(std::move(row)); }

  template <typename Json>
  void add_members(TableRow& row, const Json& object) {
    for (const auto& [name, value] : object.items()) add_cell(row, name, cell_of(value));
  }

  template <typename Json>
  void add(std::uint64_t number, const Json& value) {
    TableRow row = this->row(number);
    const bool pair = value.is_array() && value.size() == 2 && (value[0].is_string() || value[0].is_number_integer());
    if (pair) {
      add_cell(row, kKeyColumn, cell_of(value[0]));
      add_cell(row, kLabelColumn, cell_of(value[1]));
    } else if (value.is_object()) {
      add_members(row, value);
    } else {
      throw Error::corrupt(row.place + " is neither an object nor a pair of a name and a label; " +
                           "a list of labels does not name the samples: save {name: label} instead");
    }
    add(std::move(row));
  }

  RowTable finish() && {
    for (TableRow& row : table_.rows) row.cells.resize(table_.columns.size());
    return std::move(table_);
  }

 private:
  std::string unit_;
  RowTable table_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

template <typename Json>
std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

// Reads {COLUMN: [VALUES]}. Pandas writes {COLUMN: {NUMBER: VALUE}}.
template <typename Json>
RowTable table_of_columns(const Json& json) {
  RowsOfObjects rows("row ");
  std::vector<TableRow> all(json.begin()->size());
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = rows.row(i + 1);
  for (const auto& [name, values] : json.items()) {
    if (values.size() != all.size() || values.is_primitive())
      throw Error::corrupt("column " + double_quoted(name) + " has " + with_commas(values.size()) + " values, and " +
                           double_quoted(json.begin().key()) + " has " + with_commas(all.size()));
    auto row = all.begin();
    for (const Json& value : values) rows.add_cell(*row++, name, cell_of(value));
  }
  for (TableRow& row : all) rows.add(std::move(row));
  return std::move(rows).finish();
}

template <typename Json>
RowTable table_of(const Json& json) {
  RowsOfObjects rows("row ");
  std::uint64_t number = 0;
  if (json.is_array()) {
    for (const Json& value : json) rows.add(++number, value);
    return std::move(rows).finish();
  }
  if (!json.is_object()) throw Error::corrupt("is neither a JSON object nor a list");
  const bool columns = std::ranges::all_of(json, [](const Json& value) { return value.is_structured(); });
  if (columns && column_among(names_of(json), kPathColumns)) return table_of_columns(json);
  for (const auto& [key, value] : json.items()) {
    TableRow row = rows.row(++number);
    const bool named = value.is_object() && column_among(names_of(value), kPathColumns);
    if (!named) rows.add_cell(row, kKeyColumn, {.kind = TableCell::Kind::text, .text = key});
    value.is_object() ? rows.add_members(row, value) : rows.add_cell(row, kLabelColumn, cell_of(value));
    rows.add(std::move(row));
  }
  return std::move(rows).finish();
}

}  // namespace penstock
