// Reads labels from a csv, txt, json or pickle file beside the samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <formats/labels/label_table.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// A field that every sample of a dataset gets from a label file. The field replaces one of the same name.
struct Labels {
  FieldSchema field;
  std::vector<std::string> classes;  ///< names of the classes, if the labels have classes
  std::vector<std::byte> bytes;      ///< concatenated bytes of all samples
  std::vector<std::uint64_t> ends;   ///< the end of each sample's bytes

  std::span<const std::byte> of(std::uint64_t sample) const;
};

/// Reads "FILE" or "FILE:COLUMN" and finds each sample's label.
///
/// Files (by extension):
/// - csv, tsv: a header row (RFC 4180; separated by tab, comma or semicolon). The key is the column named key, file,
///   filename, image, id or one of kPathColumns, else the first one. The value is COLUMN. Without COLUMN, it is the
///   other one of two columns, or else the one named label, class, cls, target or category.
/// - json, jsonl, pkl: the tables of rows/read_table.hpp. Members have the names of csv columns.
/// - anything else: "NAME LABEL" per line, split at the first tab. Without a tab, the name is the longest one of a
///   sample, else it ends at the first blank.
///
/// All values together decide how they are read:
/// - one word: the name of a class. Classes are numbered as in `classes`, or else in their bytewise order. Field `cls`,
///   ASCII decimal. If all values are whole numbers (also "10.0"), they are class numbers (names, if `classes` has them
///   as names). A number with leading zeros ("007") is a name.
/// - one number, if all values are numbers and some are not whole: raw float32, shape ().
/// - lists ("[a, b]", "a;b", "a|b", "0.1 0.2" or a JSON list). Lists of words are several classes at once. So are lists
///   of whole numbers if their length varies or `classes` is given. The field is raw uint8 of shape (classes), with 1
///   for each named class. Lists of 0 and 1 with equal lengths (that of `classes`, if given) have this form already.
///   Other lists of numbers with equal lengths: raw float32, shape (n).
/// For the last two kinds, the field has the name of the column ("label" without one), in lower case, with '_' for
/// characters other than letters, digits and '-'.
///
/// A label belongs to the sample whose key equals its key, or its key without extension. Otherwise it belongs to the
/// sample with the same base name without extension, if only one sample and one label have that base name.
///
/// Throws Error, with the file: io; corrupt; invalid_argument: a class that `classes` lacks, a sample without a label,
/// a label without a sample, two labels of one sample (each with its name).
Labels read_labels(const std::string& file_and_column, const Dataset& dataset,
                   std::span<const std::string> classes = {});

/// Encodes the labels of a table by the rules of read_labels(). Sample i has row `row_of[i]`. Throws Error: corrupt,
/// invalid_argument, with the key.
Labels encode_labels(const LabelTable& table, std::span<const std::uint64_t> row_of,
                     std::span<const std::string> classes);

/// Returns the name of the field of a column: in lower case, with '_' for characters other than letters, digits and
/// '-'; "label" for an empty name.
std::string field_of_column(const std::string& column);

/// Returns class names in order: those of a dataset, or of a file: json (a list, or {NAME: NUMBER}), else one name per
/// line. Throws Error: io; corrupt (a duplicate name, numbers with gaps); invalid_argument (a dataset without class
/// names).
std::vector<std::string> read_classes(const std::filesystem::path& path);

}  // namespace penstock
