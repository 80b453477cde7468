// Opens a table of paths and labels (csv, tsv, json, jsonl, pickle) as a dataset of the files that it lists.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Each row is a sample. The order is that of the file.
///
/// - OpenOptions::path_column contains the path of a file: absolute, or relative to OpenOptions::root (default: the
///   folder of the table). Without the option, it is the first of kPathColumns that exists, else "key"
///   (rows/table.hpp).
/// - The file's extension names the field, as in a folder. The key is the path without extension, and without leading
///   "/" and "../". The second row of a key gets the key "KEY#2", and so on: several rows may have one file.
/// - OpenOptions::label_column contains the labels. Without the option, label_column() (labels/label_table.hpp) may
///   find one. labels.hpp describes the field. An empty label leaves the field out.
/// - Other columns become fields. If all values are numbers, or lists of numbers of one length, they are int64 or
///   float32. Other JSON values are `.json`, and all others `.txt`. Empty values leave the field out. The names are
///   those of the columns in lower case, with '_' for characters other than letters, digits and '-'.
///
/// index_with() throws the errors of read_table(). A missing column is invalid_argument, and so are two columns that
/// become one field. An empty path, an address, and a name without extension are corrupt, with the line or row. Files
/// that cannot be opened are io, with lines and paths.
/// OpenOptions::missing_files "skip" leaves out these rows, and the attribute "left_out" lists them. Errors of labels
/// name the key.
extern const Format kTable;

}  // namespace penstock
