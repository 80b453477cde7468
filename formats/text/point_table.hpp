// Distinguishes tables of points from other tables (.csv) with the same extension.
#pragma once

#include <filesystem>
#include <string_view>

#include <formats/extent.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Returns whether a field's name indicates tables, which may hold points or other data: "csv", "left.csv".
bool is_table(const FieldSchema& schema);

/// Returns whether the lines of `text`, a table or its beginning, can be points for the codec `xyz`. The columns x, y
/// and z of a header line, else the first three, must hold numbers or nothing in each line. A text with only a header
/// can be points if the header has these three names. An empty text cannot. An unterminated last line is ignored,
/// unless it is the only line.
bool can_be_points(std::string_view text);

/// The same for a value in a file, from its first 64 KiB. Returns true for an unreadable value: reading it later
/// reports the reason.
bool can_be_points(const std::filesystem::path& file, const Extent& value);

}  // namespace penstock
