// Opens HDF5 files as datasets: rows of datasets, or runs of bytes between offsets.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// A shard is an HDF5 file (made by `pack` as shard-000000.h5); a dataset is one, or a folder of *.h5, *.hdf5, *.he5.
/// Read are, at the top level and, by path, in groups:
///   /FIELD                       dataset (N, ...): row i is sample i's field, codec "raw", dtype and shape known
///   /FIELD                       dataset (N) of strings (codec "txt"), or of elements of variable length (bytes: codec
///                                as below; other numbers: "raw" and their dtype)
///   /FIELD/bytes, /FIELD/offsets uint8 (B) and integers (N + 1): sample i has bytes [offsets[i], offsets[i + 1])
///   /__key__                     the keys, in UTF-8: strings, or bytes and offsets; without them a column of different
///                                strings called key, keys, filename, filenames, id or ids, else the row's number,
///                                padded with zeros
///   /__present__/FIELD           uint8 (N), only where some sample lacks the field: 0 there
/// An attribute "codec" of such a group is the field's codec; without one it follows from the name, taken as an
/// extension, or from each value's bytes. Samples are in the order of rows.
///
/// N is that of __key__, else what shared_rows() decides. Texts called like class names are these, or a column of N
/// texts. What has another N, or cannot be read (compound elements, filters not known here, external or virtual
/// storage, links), is left out and listed with its reason in the attributes ("left_out").
///
/// A file without such columns, or with more than 256, is read as one with a dataset per sample. docs/formats.md has
/// the rules, also which groups hold columns. When nothing can be read, that is an Error: unsupported.
///
/// index() throws Error: io; corrupt; unsupported (also a file that is open for writing). Any file, however broken,
/// gives an index or one of these: metadata are read by code that bounds what it reads, not by libhdf5.
/// The writer's add() throws Error: shape, when a value of a fixed field has another length than its shape;
/// unsupported, for field names that are no path ("." or "a//b"), or that are taken, also by a part of a path; io.
extern const Format kHdf5;

}  // namespace penstock
