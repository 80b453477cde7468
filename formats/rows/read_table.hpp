// Reads a table from a csv, tsv, json, jsonl or pickle file.
#pragma once

#include <filesystem>
#include <string>

#include <formats/rows/table.hpp>

namespace penstock {

/// Returns whether read_table() reads files of this name: .csv, .tsv, .json, .jsonl, .ndjson, .pkl, .pickle, in any
/// case.
bool is_table_name(const std::filesystem::path& path);

/// Reads a table:
/// - csv, tsv: a header row and RFC 4180 records, separated by tab, comma or semicolon. Blanks around unquoted values
///   and a byte order mark are removed. Lines end with LF or CRLF.
/// - json: a list of objects or of [KEY, VALUE] pairs, {KEY: VALUE}, or {KEY: {COLUMN: VALUE}}. If a column has one of
///   the names in kPathColumns: {COLUMN: [VALUES]}. Lines of objects are read too (jsonl, ndjson).
/// - pkl, pickle: the same from dicts, lists, tuples and NumPy arrays (text/pickle.hpp). NumPy texts are texts.
/// The columns of a table without names are "key" and "label". Rows of {KEY: ...} are in bytewise order of their keys.
///
/// Throws Error, with the path: io; resource; corrupt and unsupported, with the line or row.
RowTable read_table(const std::filesystem::path& path);

/// Reads a text file without its byte order mark. Throws Error: io.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace penstock
