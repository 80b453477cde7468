// Opens MDS, the format of mosaicml-streaming, as a dataset.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Found: a folder with an index.json that lists MDS shards, or that file itself. All its shards make one index.
///
/// Each column is a field with the column's name:
///
///   str, str_float, str_decimal      codec "txt"
///   str_int                          codec "cls"
///   json, jpeg, png                  codec json, jpeg, png
///   int, uint8 ... float64           codec "raw", fixed dtype, shape ()
///   ndarray:DTYPE:SHAPE              codec "raw", fixed dtype and shape
///   ndarray, ndarray:DTYPE           codec "npy": a header kept in the index, then the elements in place
///   bytes, pkl, pil, any other       the bytes as they are, codec from the bytes; nothing is ever unpickled
///
/// A column whose encodings differ between shards, other than in the kind of image, is left out and named with them in
/// the attributes ("left_out"); `bytes` are what the other shards have.
///
/// The key is the column "__key__" where it is of str or bytes, else the sample's number over all shards.
/// A shard whose plain file is there is read in place. Where only the compressed one is, it is one block that all its
/// samples share (zstd, if libzstd is linked): indexing undoes each shard once, in memory.
/// index() throws Error: corrupt, with shard and offset (lengths that do not add up, a missing file); unsupported,
/// naming it (another compression, another format of shard). Source: mosaicml-streaming 0.13,
/// streaming/base/format/mds.
///
///   | samples u32 | offsets u32[samples + 1] | description, JSON | sample: sizes u32 of the columns that have none,
///                                                                    then the values, in the order of the columns |
///                                                                    ...
///
/// Written datasets have an index.json beside penstock.json, so that mosaicml-streaming opens them: the column
/// "__key__", and one column per field; `cls` as str_int, raw of fixed shape as ndarray or a scalar, and where a value
/// of a shard is none of what its encoding wants (or is missing) the column is `bytes` in that shard. `align` has no
/// effect. add() throws Error: unsupported, for a shard of 4 GiB, and for names that are no UTF-8.
extern const Format kMds;

}  // namespace penstock
