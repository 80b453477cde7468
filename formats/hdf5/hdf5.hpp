// Opens HDF5 files as datasets: rows of datasets, or runs of bytes between offsets.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// A shard is an HDF5 file (`pack` writes shard-000000.h5). A dataset is one shard, or a folder of *.h5, *.hdf5, *.he5.
/// These objects are read, at the top level and, by path, in groups:
///   /FIELD                       dataset (N, ...): row i is sample i's field, codec "raw", dtype and shape known
///   /FIELD                       dataset (N) of strings (codec "txt"), or of elements of variable length (bytes: codec
///                                as below; other numbers: "raw" and their dtype)
///   /FIELD/bytes, /FIELD/offsets uint8 (B) and integers (N + 1): sample i has bytes [offsets[i], offsets[i + 1])
///   /FIELD, attribute "codec"    int64 (N), codec "cls": labels as decimal text, stored in the index
///   /__key__                     the keys, in UTF-8: strings, or bytes and offsets; without them a column of different
///                                strings called key, keys, filename, filenames, id or ids, else the row's number,
///                                padded with zeros
///   /__present__/FIELD           uint8 (N), only if some sample lacks the field: 0 there
/// An attribute "codec" of such a group is the field's codec. Without the attribute, the codec follows from the name as
/// an extension, or from each value's bytes. Samples are in the order of rows.
///
/// N is the length of __key__, else the result of shared_rows(). Texts with a usual name for class names are either
/// class names, or a column of N texts. Objects with another N, and unreadable ones (compound elements, unknown
/// filters, external or virtual storage, links), are left out and listed with the reason in the attributes
/// ("left_out").
///
/// A file without such columns, or with more than 256, is read as a file with a dataset per sample.
/// docs/spec/formats.md has the rules, also for groups that hold columns. If nothing is readable, that is an Error:
/// unsupported.
///
/// index() throws Error: io; corrupt; unsupported (also for a file that is open for writing). Any file, however
/// corrupt, gives an index or one of these errors: metadata are read by code that limits its reads, not by libhdf5. The
/// writer's add() throws Error: shape, if the length of a value of a fixed field does not match its shape; unsupported,
/// for field names that are not paths ("." or "a//b"), or that conflict with another path; io.
extern const Format kHdf5;

}  // namespace penstock
