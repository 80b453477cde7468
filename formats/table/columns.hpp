// Converts the columns of a table that are neither paths nor labels to fields.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <formats/rows/table.hpp>
#include <penstock/schema.hpp>

namespace penstock {

struct ColumnValues {
  FieldSchema field;
  std::vector<std::string> values;  ///< stored bytes, a value per row; unused for empty cells
};

/// Converts column `column` by the rules in table_format.hpp.
ColumnValues values_of_column(const RowTable& table, std::size_t column);

}  // namespace penstock
