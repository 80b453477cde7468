// Opens an indexed dataset of Megatron-LM, a .bin file of tokens and its .idx file, as they are.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// Found: NAME.idx that begins with the magic, and NAME.bin beside it (either may be named); or a folder whose files
/// *.idx all do, which are its shards in the order of their names.
///
/// A sample is a document of the index. Its one field, "tokens", of the codec of that name, has the integers of the
/// stored dtype, as many as the document has, the extents of its sequences in the .bin file (one extent where they
/// follow each other). Nothing of the .bin file is read. Keys are the documents' numbers.
///
///   NAME.idx, little-endian
///   | "MMIDIDX" 0 0 | version u64 = 1 | dtype u8 | sequences u64 | documents + 1 u64 |
///   | tokens of each sequence i32 | its first byte in NAME.bin i64 | first sequence of each document i64, and the end
///   |
///
/// dtype: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16.
///
/// index() throws Error: corrupt, with the file, the offset in it and the cause: an index that ends early or late,
/// another version, sequences that lie outside NAME.bin or overlap in a document that has more bytes than it, documents
/// whose sequences do not rise from the first to the last; io, where NAME.bin is not there; unsupported: elements that
/// are no integers, sequences with modes (multimodal). Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
extern const Format kMegatron;

}  // namespace penstock
