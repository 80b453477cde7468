// Opens a TFRecord file as a dataset: every record is a sample.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Recognises a file named *.tfrecord, *.tfrecords or *.tfrec, optionally followed by "-00000-of-00010", a file whose
/// first record header has a correct checksum, and a folder with such files. A name that only ends in "-00000-of-00010"
/// counts if the content is a TFRecord. Compressed files (gzip) are recognised, so that the error can advise what to
/// do.
///
/// A record that is a tf.train.Example has one field per feature, with the feature's name:
///
///   a byte string         the bytes in place; codec by the feature's name, else from the bytes
///   one int64             codec "cls", ASCII decimal stored in the index, if every record of the file has one int64
///   int64s, floats        codec "npy", shape (count,): a header stored in the index, and the values: floats in place,
///                         ints as a block of varints
///   no value              the sample lacks the field
///   several byte strings  codec "json": a list in every record, stored in the index, if all strings are UTF-8; else
///   the
///                         sample lacks the field, and the attributes name the feature ("left_out")
///
/// If a feature has byte strings in some records and numbers in others, numbers are "npy" and the field has no codec.
/// Any other record has one field, "value"; the names in a SequenceExample are in "left_out". If files differ in how
/// many numbers a feature has, Dataset converts "cls" to "npy" (field_types.hpp). The key is the feature "__key__",
/// else FILE/NUMBER: the file's name without .tfrecord, and the record's number in it.
///
/// Indexing compares both checksums of every record, so it reads the whole file once, or three times if features change
/// their kind. index() throws the errors of TfrecordFrames; corrupt, if an Example has a feature twice.
///
/// Written shards contain Examples with "__key__" first and then the fields in their order: `cls` as an int64 if it is
/// one in plain decimal, other values as a byte string. `align` has no effect. add() throws Error: unsupported, for a
/// field without a name or named "__key__".
extern const Format kTfrecord;

}  // namespace penstock
