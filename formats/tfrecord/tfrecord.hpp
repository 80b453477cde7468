// Opens a TFRecord file as a dataset: every record is a sample.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Found: a file named *.tfrecord, *.tfrecords or *.tfrec, perhaps with "-00000-of-00010" behind it, or whose first
/// record header has a right checksum; or a folder with such files in it. A name that only ends in "-00000-of-00010"
/// counts where its content is one. Compressed files (gzip) are found so that they can be refused with advice.
///
/// A record that is a tf.train.Example has one field per feature, with the feature's name:
///
///   a byte string         the bytes in place; codec by the feature's name, else from the bytes
///   one int64             codec "cls", ASCII decimal kept in the index, where that holds for every record of the file
///   int64s, floats        codec "npy", shape (count,): a header kept in the index, and the values: floats in place,
///                         ints as a block of varints
///   no value              the sample lacks the field
///   several byte strings  left out, and named in the attributes ("left_out")
///
/// Where one feature has byte strings in some records and numbers in others, numbers are "npy" and the codec is left
/// open. A record that is anything else has one field, "value"; the names in a SequenceExample are in "left_out".
/// Where files differ in how many numbers a feature has, Dataset makes "npy" of "cls" (field_types.hpp).
/// The key is the feature "__key__", else FILE/NUMBER: the file's name without .tfrecord, and the record's place in it.
///
/// Both checksums of every record are compared while the index is made, so indexing reads the whole file once, or three
/// times where features change their kind.
/// index() throws what TfrecordFrames does; corrupt, when an Example has a feature twice.
///
/// Written shards hold Examples with "__key__" first and then the fields in their order: `cls` as an int64 where it is
/// one in plain decimal, all else as a byte string. `align` has no effect. add() throws Error: unsupported, for a field
/// without a name or named "__key__".
extern const Format kTfrecord;

}  // namespace penstock
