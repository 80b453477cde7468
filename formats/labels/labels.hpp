// Reads labels that are kept apart from the samples, in a csv, txt or json file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// A field that every sample of a dataset gets from a label file. It takes the place of a field of that name.
struct Labels {
  FieldSchema field;
  std::vector<std::string> classes;  ///< names of the classes, where the labels have any
  std::vector<std::byte> bytes;      ///< of all samples, one behind the other
  std::vector<std::uint64_t> ends;   ///< where each sample's bytes end

  std::span<const std::byte> of(std::uint64_t sample) const;
};

/// Reads "FILE" or "FILE:COLUMN" and finds each sample's label.
///
/// Files (by extension):
/// - csv, tsv: a header row (RFC 4180; separated by tab, comma or semicolon). The key is the column named key, file,
///   filename, image or id, else the first one. The value is COLUMN; without it the other one of two columns, else
///   the one named label, class, cls, target or category.
/// - json: {KEY: VALUE}, {KEY: {COLUMN: VALUE}}, or a list of objects whose members are named like csv columns.
/// - anything else: "NAME LABEL" per line, cut at the first tab, else at the first blank.
///
/// Values, by what all of them are:
/// - one word: the name of a class. `classes` numbers them, or else their bytewise order. Whole numbers from 0 on are
///   class numbers (names, where `classes` has them as names). Field `cls`, ASCII decimal.
/// - one number, where any has a sign, a point or an exponent: raw float32, shape ().
/// - lists ("[a, b]", "a;b", "a|b", "0.1 0.2" or a JSON list): of words, several classes at once, as are whole numbers
///   of varying count, or with `classes` given: raw uint8, shape (classes), 1 where the class is named. Lists of
///   equally many 0 and 1 (as many as `classes`, if given) are that already. Other lists of equally many numbers: raw
///   float32, shape (n).
/// The last two kinds are the field named after the column ("label" without one), in lower case, with '_' for what is
/// neither letter, digit nor '-'.
///
/// A label belongs to the sample whose key is its key, or its key without extension, or whose base name is its base
/// name without extension where only one sample and one label have that.
///
/// Throws Error, naming the file: io; corrupt; invalid_argument: a class that `classes` lacks, a sample without a
/// label, a label without a sample, two labels of one sample (each naming them).
Labels read_labels(const std::string& file_and_column, const Dataset& dataset,
                   std::span<const std::string> classes = {});

/// Class names in order: those of a dataset, or of a file: json (a list, or {NAME: NUMBER}), else a name per line.
/// Throws Error: io; corrupt (a name twice, numbers with gaps); invalid_argument (a dataset without class names).
std::vector<std::string> read_classes(const std::filesystem::path& path);

}  // namespace penstock
