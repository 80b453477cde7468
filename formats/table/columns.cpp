#include <algorithm>
#include <optional>
#include <utility>

#include <formats/labels/label_table.hpp>
#include <formats/labels/labels.hpp>
#include <formats/table/columns.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// Appends a number to the bytes of a value.
template <typename Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// The rows as numbers, or lists of numbers of one length. Nothing if some are not.
std::optional<ColumnValues> numbers_of(const RowTable& table, std::size_t column) {
  std::vector<LabelRow> rows;
  const LabelRow* first = nullptr;
  bool whole = true;
  rows.reserve(table.rows.size());
  for (const TableRow& row : table.rows) {
    const TableCell& cell = row.cells[column];
    if (cell.kind == TableCell::Kind::empty) {
      rows.emplace_back();
      continue;
    }
    try {
      rows.push_back(label_row({}, cell));
    } catch (const Error&) {  // an object, or a list in a list
      return std::nullopt;
    }
    const LabelRow& now = rows.back();
    if (first == nullptr) first = &now;
    const bool alike = now.list == first->list && now.items.size() == first->items.size();
    if (!alike || now.items.empty()) return std::nullopt;
    for (const LabelItem& item : now.items) {
      if (!item.number) return std::nullopt;
      whole = whole && whole_value(item);
    }
  }
  if (first == nullptr) return std::nullopt;
  Shape shape;
  if (first->list) shape.push_back(static_cast<std::int64_t>(first->items.size()));
  ColumnValues made{.field = {.name = field_of_column(table.columns[column]),
                              .codec = "raw",
                              .dtype = whole ? DType::i64 : DType::f32,
                              .shape = std::move(shape),
                              .fixed = true},
                    .values = {}};
  for (const LabelRow& row : rows) {
    std::string& bytes = made.values.emplace_back();
    for (const LabelItem& item : row.items) {
      if (whole) {
        append(bytes, *whole_value(item));
      } else {
        append(bytes, float_value(item));
      }
    }
  }
  return made;
}

}  // namespace

ColumnValues values_of_column(const RowTable& table, std::size_t column) {
  if (auto numbers = numbers_of(table, column)) return std::move(*numbers);
  const bool json = std::ranges::all_of(table.rows, [&](const TableRow& row) {
    const TableCell::Kind kind = row.cells[column].kind;
    return kind == TableCell::Kind::json || kind == TableCell::Kind::empty;
  });
  ColumnValues made{.field = field_from_extension(field_of_column(table.columns[column]) + (json ? ".json" : ".txt")),
                    .values = {}};
  for (const TableRow& row : table.rows) made.values.push_back(row.cells[column].text);
  return made;
}

}  // namespace penstock
