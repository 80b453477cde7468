// Parsers of table files by form. Private to this folder.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <formats/rows/table.hpp>

namespace penstock {

// All throw Error: corrupt, unsupported, with the line or row.

RowTable csv_table(std::string_view text);
RowTable json_table(std::string_view text);
RowTable json_lines_table(std::string_view text);
RowTable pickle_table(std::span<const std::byte> bytes);

}  // namespace penstock
