// Opens MDS, the format of mosaicml-streaming, as a dataset.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Recognises a folder with an index.json that lists MDS shards, or that file itself. All its shards form one index.
///
/// Each column is a field with the column's name:
///
///   str, str_float, str_decimal      codec "txt"
///   str_int                          codec "cls"
///   json, jpeg, png                  codec json, jpeg, png
///   int, uint8 ... float64           codec "raw", fixed dtype, shape ()
///   ndarray:DTYPE:SHAPE              codec "raw", fixed dtype and shape
///   ndarray, ndarray:DTYPE           codec "npy": a header stored in the index, then the elements in place
///   bytes, pkl, pil, any other       the stored bytes, codec from the bytes; nothing is ever unpickled
///
/// If the encodings of a column differ between shards in more than the kind of image, the column is left out and named
/// in the attributes ("left_out"). `bytes` match any encoding of the other shards.
///
/// The key is the column "__key__" if it is of str or bytes, else the sample's number over all shards. If the plain
/// file of a shard exists, it is read in place. If only the compressed file exists, it is one block that all its
/// samples share (zstd, if libzstd is linked): indexing decompresses each shard once, in memory. index() throws Error:
/// corrupt, with shard and offset (inconsistent lengths, a missing file); unsupported, with the name of the feature
/// (another compression, another shard format). Source: mosaicml-streaming 0.13, streaming/base/format/mds.
///
///   | samples u32 | offsets u32[samples + 1] | description, JSON | sample: sizes u32 of the columns that have none,
///                                                                    then the values, in the order of the columns |
///                                                                    ...
///
/// Written datasets have an index.json beside penstock.json, so that mosaicml-streaming opens them. They have the
/// column "__key__", and one column per field: `cls` as str_int, raw of fixed shape as ndarray or a scalar. If a value
/// of a shard does not fit its encoding (or is missing), the column is `bytes` in that shard. `align` has no effect.
/// add() throws Error: unsupported, for a shard of 4 GiB, and for names that are not UTF-8.
extern const Format kMds;

}  // namespace penstock
