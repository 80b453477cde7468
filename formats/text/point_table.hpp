// Tells tables of points from other tables (.csv), whose extension is the same.
#pragma once

#include <filesystem>
#include <string_view>

#include <formats/extent.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Whether a field's name says that it holds tables, which may be points or any others: "csv", "left.csv".
bool is_table(const FieldSchema& schema);

/// Whether the lines of `text`, the beginning of a table or all of it, can be points as the codec `xyz` reads them: the
/// columns that a first line calls x, y and z, else the first three, hold numbers or nothing in each line. Text of no
/// line but names can be where these three are among them; no line at all can. A last line without an end is not looked
/// at, unless it is the only one.
bool can_be_points(std::string_view text);

/// The same of a value in a file, told from its first 64 KiB. One that cannot be read can: who reads it is told why
/// not.
bool can_be_points(const std::filesystem::path& file, const Extent& value);

}  // namespace penstock
